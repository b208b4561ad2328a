/** @file CFXMLParser.h
 *  XML parsers: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFXMLPARSER__
#define __COREFOUNDATION_CFXMLPARSER__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFXMLParserRef, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLParserGetTypeID, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLParserGetContext, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLParserGetCallBacks, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLParserGetSourceURL, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLParserGetLocation, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLParserGetLineNumber, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLParserGetDocument, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLParserGetStatusCode, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLParserCopyErrorDescription, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLParserAbort, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLParserParse, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLParserCreate, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLParserCreateWithDataFromURL, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLTreeCreateFromData, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLTreeCreateWithDataFromURL, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLTreeCreateXMLData, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLCreateStringByEscapingEntities, __CF_NO_PROPERTY_LISTS);
__CF_NO_FUNCTION(CFXMLCreateStringByUnescapingEntities, __CF_NO_PROPERTY_LISTS);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFXMLPARSER__ */
