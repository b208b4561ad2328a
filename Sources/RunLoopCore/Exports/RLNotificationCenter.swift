import CLinux
import CRunLoop

// The functions that include/RunLoop/RLNotificationCenter.h declares and documents.

/// Checks that a handle is that of the notification center: see `Arguments.swift`.
@inline(never)
private func checkCenter(_ center: OpaquePointer?, _ function: Name) -> Bool {
    let center: UnsafeMutablePointer<NotificationCenterStorage>? = Handle.borrow(center, function, "center")
    return center != nil
}

@implementation @c
public func RLNotificationCenterGetTypeID() -> UInt { Kind.notificationCenter.typeID }

@implementation @c
public func RLNotificationCenterAddObserver(
    _ center: OpaquePointer?, _ observer: UnsafeRawPointer?, _ callBack: NotificationCallback?, _ name: OpaquePointer?,
    _ object: UnsafeRawPointer?, _ suspensionBehavior: Int
) {
    let function: Name = "RLNotificationCenterAddObserver"
    guard checkCenter(center, function), checkNotNull(callBack != nil, function, "callBack"), let callBack else { return }
    var string: StringPointer?
    guard Handle.borrow(name, into: &string, function, "name") else { return }
    // fork() has to acquire the lock of the observers, whether or not there is a loop.
    guard Registry.prepare() else { return }
    _ = Observances.add(observer, callBack, string, object)
}

@implementation @c
public func RLNotificationCenterRemoveObserver(
    _ center: OpaquePointer?, _ observer: UnsafeRawPointer?, _ name: OpaquePointer?, _ object: UnsafeRawPointer?
) {
    let function: Name = "RLNotificationCenterRemoveObserver"
    guard checkCenter(center, function) else { return }
    var string: StringPointer?
    guard Handle.borrow(name, into: &string, function, "name") else { return }
    Observances.remove(observer, string, object)
}

@implementation @c
public func RLNotificationCenterRemoveEveryObserver(_ center: OpaquePointer?, _ observer: UnsafeRawPointer?) {
    if checkCenter(center, "RLNotificationCenterRemoveEveryObserver") { Observances.remove(observer, nil, nil) }
}

@inline(never)
private func post(
    _ center: OpaquePointer?, _ name: OpaquePointer?, _ object: UnsafeRawPointer?, _ userInfo: OpaquePointer?, _ function: Name
) {
    guard checkCenter(center, function), let string: StringPointer = Handle.borrow(name, function, "name") else { return }
    var dictionary: DictionaryPointer?
    guard Handle.borrow(userInfo, into: &dictionary, function, "userInfo") else { return }
    Observances.post(center, string, object, userInfo)
}

@implementation @c
public func RLNotificationCenterPostNotification(
    _ center: OpaquePointer?, _ name: OpaquePointer?, _ object: UnsafeRawPointer?, _ userInfo: OpaquePointer?,
    _ deliverImmediately: UInt8
) { post(center, name, object, userInfo, "RLNotificationCenterPostNotification") }

@implementation @c
public func RLNotificationCenterPostNotificationWithOptions(
    _ center: OpaquePointer?, _ name: OpaquePointer?, _ object: UnsafeRawPointer?, _ userInfo: OpaquePointer?, _ options: UInt
) { post(center, name, object, userInfo, "RLNotificationCenterPostNotificationWithOptions") }
