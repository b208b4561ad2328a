/** @file CFPropertyList.h
 *  Property lists: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFPROPERTYLIST__
#define __COREFOUNDATION_CFPROPERTYLIST__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_FUNCTION(CFPropertyListCreateFromXMLData, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFPropertyListCreateXMLData, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFPropertyListCreateDeepCopy, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFPropertyListIsValid, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFPropertyListWriteToStream, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFPropertyListCreateFromStream, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFPropertyListCreateWithData, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFPropertyListCreateWithStream, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFPropertyListWrite, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFPropertyListCreateData, __CF_NO_PROPERTY_LISTS);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFPROPERTYLIST__ */
