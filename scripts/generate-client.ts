// Writes client/operations.ts from the service's own description. `--check` writes nothing, and fails where the file
// is not what it would write.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { openLatchkey } from '../src/compose.ts'
import { packageVersion, readConfig } from '../src/config.ts'
import { Metrics } from '../src/http/observe/metrics.ts'
import { buildServer } from '../src/http/server.ts'
import { type ApiDescription, printOperations } from './print-operations.ts'

const root = join(import.meta.dirname, '..')

export const GENERATED = join(root, 'client', 'operations.ts')

export async function generateClient(): Promise<string> {
  return format(printOperations(await describeApi()))
}

/** What /openapi.json answers, from the same routes, without a server that listens. */
export async function describeApi(): Promise<ApiDescription> {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-client-'))
  const config = readConfig({ LATCHKEY_DATA_DIR: folder })
  const { registry, verifiers, gate, store } = await openLatchkey(config)
  try {
    const server = await buildServer({
      registry,
      verifiers,
      gate,
      authenticator: (presented) => registry.authenticate(presented),
      app: { appType: config.appType, appVersion: config.appVersion },
      version: packageVersion(),
      log: pino({ level: 'silent' }),
      metrics: new Metrics(),
      now: Date.now,
      ready: () => store.ping(),
      isDraining: () => false,
      credentialHeader: undefined,
      trustProxy: [],
    })
    await server.ready()
    const description = JSON.parse(JSON.stringify(server.swagger())) as ApiDescription
    await server.close()
    return description
  } finally {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** As `npm run format` would, so that the generated file passes the format check. */
function format(text: string): string {
  const biome = join(root, 'node_modules', '.bin', 'biome')
  return execFileSync(biome, ['format', `--stdin-file-path=${GENERATED}`], { cwd: root, input: text, encoding: 'utf8' })
}

if (import.meta.main) {
  const text = await generateClient()
  if (!process.argv.includes('--check')) writeFileSync(GENERATED, text)
  else if (readFileSync(GENERATED, 'utf8') !== text) {
    console.error('client/operations.ts is not what /openapi.json says: run `npm run generate-client`')
    process.exitCode = 1
  }
}
