/** @file TargetConditionals.h
 *  The target system and processor, in the macros of Apple's header of this name: Linux, and none of Apple's systems.
 *  Part of the source compatibility headers: see CoreFoundation/CoreFoundation.h. */
#ifndef __TARGETCONDITIONALS__
#define __TARGETCONDITIONALS__ 1

#define TARGET_OS_LINUX 1
#define TARGET_OS_UNIX 0 /* as in Apple's header: for other Unix systems, which have no macro of their own */
#define TARGET_OS_MAC 0
#define TARGET_OS_OSX 0
#define TARGET_OS_IPHONE 0
#define TARGET_OS_IOS 0
#define TARGET_OS_WATCH 0
#define TARGET_OS_TV 0
#define TARGET_OS_VISION 0
#define TARGET_OS_MACCATALYST 0
#define TARGET_OS_SIMULATOR 0
#define TARGET_OS_EMBEDDED 0
#define TARGET_OS_DRIVERKIT 0
#define TARGET_OS_WIN32 0
#define TARGET_OS_WINDOWS 0
#define TARGET_OS_BSD 0
#define TARGET_OS_ANDROID 0
#define TARGET_OS_CYGWIN 0
#define TARGET_OS_WASI 0
#define TARGET_IPHONE_SIMULATOR 0

#define TARGET_CPU_PPC 0
#define TARGET_CPU_PPC64 0
#define TARGET_CPU_68K 0
#define TARGET_CPU_ARM 0
#if defined(__x86_64__)
#define TARGET_CPU_X86 0
#define TARGET_CPU_X86_64 1
#define TARGET_CPU_ARM64 0
#elif defined(__aarch64__)
#define TARGET_CPU_X86 0
#define TARGET_CPU_X86_64 0
#define TARGET_CPU_ARM64 1
#else
#define TARGET_CPU_X86 0
#define TARGET_CPU_X86_64 0
#define TARGET_CPU_ARM64 0
#endif

#define TARGET_RT_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#define TARGET_RT_BIG_ENDIAN (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
#define TARGET_RT_64_BIT (__SIZEOF_POINTER__ == 8)
#define TARGET_RT_MAC_CFM 0
#define TARGET_RT_MAC_MACHO 0

#endif /* __TARGETCONDITIONALS__ */
