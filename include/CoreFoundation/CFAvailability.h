/** @file CFAvailability.h
 *  Macros of Apple's headers that unmodified programs use: the target, enumerations, and availability attributes (empty
 *  here). Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFAVAILABILITY__
#define __COREFOUNDATION_CFAVAILABILITY__ 1

/* C++98 has no variadic macros; compilers support them, but would warn. */
#if defined(__cplusplus) && __cplusplus < 201103L
#pragma GCC system_header
#endif

/* The macros of <TargetConditionals.h> on a Mac, with the values for Linux. */
#ifndef TARGET_OS_MAC
#define TARGET_OS_MAC 0
#endif
#ifndef TARGET_OS_OSX
#define TARGET_OS_OSX 0
#endif
#ifndef TARGET_OS_IPHONE
#define TARGET_OS_IPHONE 0
#endif
#ifndef TARGET_OS_WIN32
#define TARGET_OS_WIN32 0
#endif
#ifndef TARGET_OS_LINUX
#define TARGET_OS_LINUX 1
#endif

/* Enumerations with a fixed type where the compiler has them (C++11, C23, Clang), otherwise an integer type and
 * constants. The type has the same size in every case, the constants only with a fixed type. */
#if (defined(__cplusplus) && __cplusplus >= 201103L) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L) || \
    (defined(__clang__) && !defined(__cplusplus))
#define __CF_NAMED_ENUM(_type, _name) \
    int __CF_ENUM_##_name;            \
    __extension__ enum _name : _type; \
    typedef enum _name _name;         \
    __extension__ enum _name : _type
#define __CF_ANON_ENUM(_type) __extension__ enum : _type
#define CF_OPTIONS(_type, _name) \
    _type _name;                 \
    __extension__ enum : _type
#else
#define __CF_NAMED_ENUM(_type, _name) \
    _type _name;                      \
    enum
#define __CF_ANON_ENUM(_type) enum
#define CF_OPTIONS(_type, _name) \
    _type _name;                 \
    enum
#endif
#define __CF_ENUM_GET_MACRO(_1, _2, NAME, ...) NAME
/** `typedef CF_ENUM(type, name) { … };` or `CF_ENUM(type) { … };` */
#define CF_ENUM(...) __CF_ENUM_GET_MACRO(__VA_ARGS__, __CF_NAMED_ENUM, __CF_ANON_ENUM, 0)(__VA_ARGS__)
#define CF_CLOSED_ENUM(_type, _name) __CF_NAMED_ENUM(_type, _name)

#define CF_STRING_ENUM
#define CF_EXTENSIBLE_STRING_ENUM
#define CF_TYPED_ENUM
#define CF_TYPED_EXTENSIBLE_ENUM

/* Availability has no meaning on Linux. */
#ifndef API_AVAILABLE
#define API_AVAILABLE(...)
#endif
#ifndef API_UNAVAILABLE
#define API_UNAVAILABLE(...)
#endif
#ifndef API_DEPRECATED
#define API_DEPRECATED(...)
#endif
#ifndef CF_AVAILABLE
#define CF_AVAILABLE(_mac, _ios)
#define CF_AVAILABLE_MAC(_mac)
#define CF_AVAILABLE_IOS(_ios)
#define CF_DEPRECATED(_macIntro, _macDep, _iosIntro, _iosDep, ...)
#define CF_DEPRECATED_MAC(_macIntro, _macDep, ...)
#define CF_DEPRECATED_IOS(_iosIntro, _iosDep, ...)
#define CF_ENUM_AVAILABLE(_mac, _ios)
#define CF_ENUM_DEPRECATED(_macIntro, _macDep, _iosIntro, _iosDep, ...)
#endif

/* Apple's names that this library declines. They are declared so that the compiler can say why it refuses their use.
 * With a compiler that lacks the attribute, linking fails: no library has the symbol. */
#if defined(__has_attribute)
#if __has_attribute(unavailable)
#define __CF_DECLINED(_why) __attribute__((unavailable(_why)))
#endif
#endif
#ifndef __CF_DECLINED
#define __CF_DECLINED(_why)
#endif

#endif /* __COREFOUNDATION_CFAVAILABILITY__ */
