/** @file AssertMacros.h
 *  Apple's assertion macros: a condition that does not hold is reported on stderr, and the function jumps to its exit
 *  label.
 *  Part of the source compatibility headers: see CoreFoundation/CoreFoundation.h.
 *
 *      __Check     report it; not evaluated in production code
 *      __Verify    report it; always evaluated
 *      __Require   report it and go to the label
 *
 *  …_noErr: the value must be 0. …_Action: also execute a statement. …_String: also print a message. …_Quiet: nothing
 *  is reported. __n…: the condition must not hold. Each macro also has a name in lower case without underscores
 *  (check(), require_noerr_action()), unless __ASSERT_MACROS_DEFINE_VERSIONS_WITHOUT_UNDERSCORES is 0.
 *
 *  A program may define these before it includes the header: DEBUG_ASSERT_PRODUCTION_CODE as 1, so that nothing is
 *  reported; DEBUG_ASSERT_COMPONENT_NAME_STRING, the name that begins each report; DEBUG_ASSERT_MESSAGE(), which writes
 *  the report. */
#ifndef __ASSERTMACROS__
#define __ASSERTMACROS__ 1

#include <stdio.h>

#ifndef __ASSERT_MACROS_DEFINE_VERSIONS_WITHOUT_UNDERSCORES
#define __ASSERT_MACROS_DEFINE_VERSIONS_WITHOUT_UNDERSCORES 1
#endif
#ifndef DEBUG_ASSERT_PRODUCTION_CODE
#define DEBUG_ASSERT_PRODUCTION_CODE 0
#endif
#ifndef DEBUG_ASSERT_COMPONENT_NAME_STRING
#define DEBUG_ASSERT_COMPONENT_NAME_STRING "program"
#endif
#ifndef DEBUG_ASSERT_MESSAGE
#define DEBUG_ASSERT_MESSAGE(component, assertion, label, message, file, line, value) \
    __AssertMacrosTell(component, assertion, label, message, file, line, value)
static __inline__ __attribute__((unused)) void __AssertMacrosTell(const char *component, const char *assertion,
                                                                  const char *label, const char *message,
                                                                  const char *file, long line, long value)
{
    fprintf(stderr, "%s: %s:%ld: does not hold: %s", component, file, line, assertion);
    if (value != 0)
        fprintf(stderr, ", value %ld", value);
    if (label != NULL)
        fprintf(stderr, ", going to %s", label);
    if (message != NULL)
        fprintf(stderr, ": %s", message);
    fputc('\n', stderr);
}
#endif

#if DEBUG_ASSERT_PRODUCTION_CODE
#define __ASSERT_TELL(text, label, message, value) ((void)0)
#else
#define __ASSERT_TELL(text, label, message, value) \
    DEBUG_ASSERT_MESSAGE(DEBUG_ASSERT_COMPONENT_NAME_STRING, text, label, message, __FILE__, __LINE__, value)
#endif
#define __ASSERT_FAILS(assertion) __builtin_expect(!(assertion), 0)

/* The basis of all these macros. The last argument is what is executed in the end. */
#define __ASSERT_THAT(assertion, text, label, message, ...) \
    do {                                                    \
        if (__ASSERT_FAILS(assertion)) {                    \
            __ASSERT_TELL(text, label, message, 0);         \
            __VA_ARGS__;                                    \
        }                                                   \
    } while (0)
#define __ASSERT_ZERO(error, text, label, message, ...)          \
    do {                                                         \
        long __assert_value = (long)(error);                     \
        if (__ASSERT_FAILS(__assert_value == 0)) {               \
            __ASSERT_TELL(text, label, message, __assert_value); \
            __VA_ARGS__;                                         \
        }                                                        \
    } while (0)

/* These expand to nothing in production code. */
#if DEBUG_ASSERT_PRODUCTION_CODE
#define __Check(assertion) ((void)0)
#define __Check_String(assertion, message) ((void)0)
#define __Check_noErr(error) ((void)0)
#define __Check_noErr_String(error, message) ((void)0)
#define __Debug_String(message) ((void)0)
#else
#define __Check(assertion) __Verify(assertion)
#define __Check_String(assertion, message) __Verify_String(assertion, message)
#define __Check_noErr(error) __Verify_noErr(error)
#define __Check_noErr_String(error, message) __Verify_noErr_String(error, message)
#define __Debug_String(message) __ASSERT_TELL("", NULL, message, 0)
#endif
#define __Check_Compile_Time(assertion) extern int __assert_compile_time[(assertion) ? 1 : -1] __attribute__((unused))
#define __Require_Compile_Time(assertion) __Check_Compile_Time(assertion)

#define __Verify(assertion) __ASSERT_THAT(assertion, #assertion, NULL, NULL, (void)0)
#define __Verify_String(assertion, message) __ASSERT_THAT(assertion, #assertion, NULL, message, (void)0)
#define __Verify_Action(assertion, action) __ASSERT_THAT(assertion, #assertion, NULL, NULL, action)
#define __Verify_noErr(error) __ASSERT_ZERO(error, #error " == 0", NULL, NULL, (void)0)
#define __Verify_noErr_String(error, message) __ASSERT_ZERO(error, #error " == 0", NULL, message, (void)0)
#define __Verify_noErr_Action(error, action) __ASSERT_ZERO(error, #error " == 0", NULL, NULL, action)

#define __Require(assertion, label) __ASSERT_THAT(assertion, #assertion, #label, NULL, goto label)
#define __Require_Action(assertion, label, action) \
    __ASSERT_THAT(assertion, #assertion, #label, NULL, action; goto label)
#define __Require_String(assertion, label, message) __ASSERT_THAT(assertion, #assertion, #label, message, goto label)
#define __Require_Action_String(assertion, label, action, message) \
    __ASSERT_THAT(assertion, #assertion, #label, message, action; goto label)
#define __Require_Quiet(assertion, label) __Require_Action_Quiet(assertion, label, (void)0)
#define __Require_Action_Quiet(assertion, label, action) \
    do {                                                 \
        if (__ASSERT_FAILS(assertion)) {                 \
            action;                                      \
            goto label;                                  \
        }                                                \
    } while (0)
#define __Require_noErr(error, label) __ASSERT_ZERO(error, #error " == 0", #label, NULL, goto label)
#define __Require_noErr_Action(error, label, action) \
    __ASSERT_ZERO(error, #error " == 0", #label, NULL, action; goto label)
#define __Require_noErr_String(error, label, message) __ASSERT_ZERO(error, #error " == 0", #label, message, goto label)
#define __Require_noErr_Action_String(error, label, action, message) \
    __ASSERT_ZERO(error, #error " == 0", #label, message, action; goto label)
#define __Require_noErr_Quiet(error, label) __Require_Action_Quiet((error) == 0, label, (void)0)
#define __Require_noErr_Action_Quiet(error, label, action) __Require_Action_Quiet((error) == 0, label, action)

#define __nCheck(assertion) __Check(!(assertion))
#define __nCheck_String(assertion, message) __Check_String(!(assertion), message)
#define __nVerify(assertion) __Verify(!(assertion))
#define __nVerify_String(assertion, message) __Verify_String(!(assertion), message)
#define __nVerify_Action(assertion, action) __Verify_Action(!(assertion), action)
#define __nRequire(assertion, label) __Require(!(assertion), label)
#define __nRequire_Action(assertion, label, action) __Require_Action(!(assertion), label, action)
#define __nRequire_String(assertion, label, message) __Require_String(!(assertion), label, message)
#define __nRequire_Action_String(assertion, label, action, message) \
    __Require_Action_String(!(assertion), label, action, message)
#define __nRequire_Quiet(assertion, label) __Require_Quiet(!(assertion), label)
#define __nRequire_Action_Quiet(assertion, label, action) __Require_Action_Quiet(!(assertion), label, action)

#if __ASSERT_MACROS_DEFINE_VERSIONS_WITHOUT_UNDERSCORES
#define check(assertion) __Check(assertion)
#define check_string(assertion, message) __Check_String(assertion, message)
#define check_noerr(error) __Check_noErr(error)
#define check_noerr_string(error, message) __Check_noErr_String(error, message)
#define debug_string(message) __Debug_String(message)
#define check_compile_time(assertion) __Check_Compile_Time(assertion)
#define require_compile_time(assertion) __Require_Compile_Time(assertion)
#define verify(assertion) __Verify(assertion)
#define verify_string(assertion, message) __Verify_String(assertion, message)
#define verify_action(assertion, action) __Verify_Action(assertion, action)
#define verify_noerr(error) __Verify_noErr(error)
#define verify_noerr_string(error, message) __Verify_noErr_String(error, message)
#define verify_noerr_action(error, action) __Verify_noErr_Action(error, action)
#define require(assertion, label) __Require(assertion, label)
#define require_action(assertion, label, action) __Require_Action(assertion, label, action)
#define require_string(assertion, label, message) __Require_String(assertion, label, message)
#define require_action_string(assertion, label, action, message) \
    __Require_Action_String(assertion, label, action, message)
#define require_quiet(assertion, label) __Require_Quiet(assertion, label)
#define require_action_quiet(assertion, label, action) __Require_Action_Quiet(assertion, label, action)
#define require_noerr(error, label) __Require_noErr(error, label)
#define require_noerr_action(error, label, action) __Require_noErr_Action(error, label, action)
#define require_noerr_string(error, label, message) __Require_noErr_String(error, label, message)
#define require_noerr_action_string(error, label, action, message) \
    __Require_noErr_Action_String(error, label, action, message)
#define require_noerr_quiet(error, label) __Require_noErr_Quiet(error, label)
#define require_noerr_action_quiet(error, label, action) __Require_noErr_Action_Quiet(error, label, action)
#define ncheck(assertion) __nCheck(assertion)
#define ncheck_string(assertion, message) __nCheck_String(assertion, message)
#define nverify(assertion) __nVerify(assertion)
#define nverify_string(assertion, message) __nVerify_String(assertion, message)
#define nverify_action(assertion, action) __nVerify_Action(assertion, action)
#define nrequire(assertion, label) __nRequire(assertion, label)
#define nrequire_action(assertion, label, action) __nRequire_Action(assertion, label, action)
#define nrequire_string(assertion, label, message) __nRequire_String(assertion, label, message)
#define nrequire_action_string(assertion, label, action, message) \
    __nRequire_Action_String(assertion, label, action, message)
#define nrequire_quiet(assertion, label) __nRequire_Quiet(assertion, label)
#define nrequire_action_quiet(assertion, label, action) __nRequire_Action_Quiet(assertion, label, action)
#endif

#endif /* __ASSERTMACROS__ */
