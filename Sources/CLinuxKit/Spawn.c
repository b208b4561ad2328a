/* posix_spawn, in C: its arguments are opaque structs that are filled in by one function per field. */
#include "CLinuxKit.h"

static int add_standard_descriptors(posix_spawn_file_actions_t *actions, const int sources[3])
{
    int error = 0;
    for (int number = 0; number < 3 && error == 0; number++) {
        if (sources[number] == linux_spawn_null)
            error = posix_spawn_file_actions_addopen(actions, number, "/dev/null", O_RDWR, 0);
        else if (sources[number] == linux_spawn_output)
            error = posix_spawn_file_actions_adddup2(actions, 1, number);
        else if (sources[number] != linux_spawn_inherit)
            error = posix_spawn_file_actions_adddup2(actions, sources[number], number);
    }
    return error;
}

/* Sets the child's attributes: no signal is blocked or ignored, and `flags` may ask for a new session or process group. Returns 0 or an
   error number. */
static int set_attributes(posix_spawnattr_t *attributes, int flags)
{
    sigset_t none, all;
    short bits = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigemptyset(&none);
    sigfillset(&all);
    /* A new session includes a new process group, and its leader may not change groups. */
    if ((flags & linux_new_session) != 0)
        bits |= POSIX_SPAWN_SETSID;
    else if ((flags & linux_new_group) != 0)
        bits |= POSIX_SPAWN_SETPGROUP;
    int error = posix_spawnattr_setsigmask(attributes, &none);
    if (error == 0)
        error = posix_spawnattr_setsigdefault(attributes, &all);
    if (error == 0)
        error = posix_spawnattr_setpgroup(attributes, 0);
    return error != 0 ? error : posix_spawnattr_setflags(attributes, bits);
}

/* Starts the program; `environment` is NULL for the caller's own. Returns 0 or an error number. */
static int spawn(int *process, const char *program, const char *const *arguments, const char *const *environment,
                 int flags, const posix_spawn_file_actions_t *actions)
{
    posix_spawnattr_t attributes;
    int error = posix_spawnattr_init(&attributes);
    if (error != 0)
        return error;
    error = set_attributes(&attributes, flags);
    if (error == 0)
        error = ((flags & linux_search_path) != 0 ? posix_spawnp : posix_spawn)(
            process, program, actions, &attributes, (char *const *)arguments,
            (char *const *)(environment != NULL ? environment : (const char *const *)environ));
    posix_spawnattr_destroy(&attributes);
    return error;
}

int linux_spawn(int *process, const char *program, const char *const *arguments, const char *const *environment,
                const char *directory, int flags, const int sources[3])
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0)
        return error;
    error = add_standard_descriptors(&actions, sources);
    if (error == 0 && directory != NULL)
        error = posix_spawn_file_actions_addchdir_np(&actions, directory);
    if (error == 0)
        error = spawn(process, program, arguments, environment, flags, &actions);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}
