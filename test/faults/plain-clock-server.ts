// The positive control of the clock: the same server, which believes whatever the machine's clock says.
import { serveAltered } from '../support/altered-server.ts'

await serveAltered(() => ({}))
