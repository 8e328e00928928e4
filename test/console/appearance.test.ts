// How each view of the console looks, in a real Chromium against the real server.
import { describeAppearance } from './appearance.ts'
import { describeConsole } from './world.ts'

describeConsole({
  appearance: describeAppearance,
})
