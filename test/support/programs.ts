// The bundles that `npm test` makes of the programs that tests start: they load a few files instead of hundreds.

/** Set by scripts/test.mjs: the paths of programs, each with that of its bundle. */
export const BUNDLED_PROGRAMS = 'TEST_BUNDLED_PROGRAMS'

const bundles = JSON.parse(process.env[BUNDLED_PROGRAMS] ?? '{}') as Readonly<Record<string, string>>

/** The path itself where nothing is bundled for it, as in a test that is run by hand. */
export const bundleOf = (path: string): string => bundles[path] ?? path
