/** @file CFBundle.h
 *  Bundles: not available. Using one of these names is a compile-time error that says what to use instead:
 *  CFUnavailable.h.
 *  Part of the source compatibility headers: see CoreFoundation.h. */
#ifndef __COREFOUNDATION_CFBUNDLE__
#define __COREFOUNDATION_CFBUNDLE__ 1

#include <CoreFoundation/CFUnavailable.h>

#ifndef CF_ALLOW_UNAVAILABLE

CF_EXTERN_C_BEGIN

__CF_NO_TYPE(CFBundleRef, __CF_NO_BUNDLES);
__CF_NO_TYPE(CFPlugInRef, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetMainBundle, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetBundleWithIdentifier, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetAllBundles, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetTypeID, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCreate, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCreateBundlesFromDirectory, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyBundleURL, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetValueForInfoDictionaryKey, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetInfoDictionary, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetLocalInfoDictionary, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetPackageInfo, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetIdentifier, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetVersionNumber, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetDevelopmentRegion, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopySupportFilesDirectoryURL, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyResourcesDirectoryURL, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyPrivateFrameworksURL, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopySharedFrameworksURL, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopySharedSupportURL, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyBuiltInPlugInsURL, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyInfoDictionaryInDirectory, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetPackageInfoInDirectory, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyResourceURL, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyResourceURLsOfType, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyLocalizedString, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyResourceURLInDirectory, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyResourceURLsOfTypeInDirectory, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyBundleLocalizations, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyPreferredLocalizationsFromArray, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyLocalizationsForPreferences, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyResourceURLForLocalization, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyResourceURLsOfTypeForLocalization, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyInfoDictionaryForURL, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyLocalizationsForURL, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyExecutableArchitecturesForURL, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyExecutableURL, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyExecutableArchitectures, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundlePreflightExecutable, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleLoadExecutableAndReturnError, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleLoadExecutable, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleIsExecutableLoaded, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleUnloadExecutable, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetFunctionPointerForName, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetFunctionPointersForNames, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetDataPointerForName, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetDataPointersForNames, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCopyAuxiliaryExecutableURL, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleGetPlugIn, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleOpenBundleResourceMap, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleOpenBundleResourceFiles, __CF_NO_BUNDLES);
__CF_NO_FUNCTION(CFBundleCloseBundleResourceMap, __CF_NO_BUNDLES);

CF_EXTERN_C_END

#endif /* CF_ALLOW_UNAVAILABLE */

#endif /* __COREFOUNDATION_CFBUNDLE__ */
