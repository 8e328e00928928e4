// What `npm test` has bundled at its start: a few files are loaded instead of hundreds.

/** Set by scripts/test.mjs, from what scripts/make-bundles.mjs returns. */
export const BUNDLES = 'TEST_BUNDLES'

const bundles = JSON.parse(process.env[BUNDLES] ?? '{}') as Readonly<Record<string, string>>

/** Where there is no bundle of it, as in a test that is run by hand, the path itself. */
export const bundleOf = (path: string): string => bundles[path] ?? path
