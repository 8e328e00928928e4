// What `npm test` has bundled at its start: a few files are loaded instead of hundreds.

/** Set by scripts/test.mjs, from what scripts/make-bundles.mjs returns. */
export const BUNDLES = 'TEST_BUNDLES'

const bundles = JSON.parse(process.env[BUNDLES] ?? '{}') as Readonly<Record<string, string>>

/** The path itself where nothing is bundled for it, as in a test that is run by hand. */
export const bundleOf = (path: string): string => bundles[path] ?? path
