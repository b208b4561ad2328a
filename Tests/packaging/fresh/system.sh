# Run by root in the new system: installs the packages, lets a user use them, and purges them.
set -eu
dpkg -i /srv/*.deb >/dev/null
useradd --create-home newcomer
test -e /etc/hosts || printf '127.0.0.1 localhost\n::1 localhost\n' >/etc/hosts # which Debian's installer writes
cd ~newcomer
for part in projects examples command; do
    setpriv --reuid=newcomer --regid=newcomer --init-groups env -i HOME="$PWD" PATH="$PATH" sh /srv/fresh/$part.sh
done

dpkg --purge $(dpkg-query -W -f '${Package} ' 'librunloop*' 'runloop-tools*') >/dev/null
left=$(find /usr /etc /var -path /var/cache/man -prune -o -iname '*runloop*' -print)
test -z "$left" || { echo "left behind: $left"; exit 1; }
. /etc/os-release
echo "$PRETTY_NAME: $(ldd --version | head -n 1)"
