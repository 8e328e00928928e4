// How often a test of random cases is repeated: less in `npm test` than in `npm run test:faults`.

/** Set to 'long' by test/faults/run.ts. */
export const RUNS_VARIABLE = 'TEST_RUNS'

export function runs(short: number, long: number): number {
  return process.env[RUNS_VARIABLE] === 'long' ? long : short
}
