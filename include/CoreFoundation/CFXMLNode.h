/** @file CFXMLNode.h
 *  XML trees: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFXMLNODE__
#define __COREFOUNDATION_CFXMLNODE__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFXMLNodeRef, __CF_NO_PROPERTY_LISTS);
__CF_NO_TYPE(CFXMLTreeRef, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLNodeGetTypeID, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLNodeCreate, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLNodeCreateCopy, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLNodeGetTypeCode, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLNodeGetString, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLNodeGetInfoPtr, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLNodeGetVersion, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLTreeCreateWithNode, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLTreeGetNode, __CF_NO_PROPERTY_LISTS);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFXMLNODE__ */
