// Waits for a bulk operation, wherever it is carried out.
import { setTimeout as pause } from 'node:timers/promises'
import type { BulkOperation } from '../../client/latchkey-client.ts'

const LOOK_EVERY_MS = 200

export async function untilOver(
  look: () => Promise<BulkOperation>,
  onProgress: (operation: BulkOperation) => void,
): Promise<BulkOperation> {
  for (;;) {
    const operation = await look()
    onProgress(operation)
    if (operation.status !== 'running') return operation
    await pause(LOOK_EVERY_MS)
  }
}
