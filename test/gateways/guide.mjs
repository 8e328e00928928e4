// The first steps of docs/guides/gateways.md, as a reader does them, on free ports. In `npm run test:gateways`: it needs Caddy.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { followPage } from '../../scripts/follow-page.mjs'
import { Cli } from '../support/cli.ts'
import { DOCS, freePorts } from './machine.ts'

test('the first steps of docs/guides/gateways.md lead to an endpoint that refuses a disabled token', async () => {
  const cli = new Cli()
  try {
    const [latchkey = 0, gateway = 0, app = 0] = await freePorts(3)
    const ports = [
      [':3000', `:${latchkey}`],
      [':8080', `:${gateway}`],
      ['9000', `${app}`],
    ]
    const documented = readFileSync(join(DOCS, 'gateways', 'Caddyfile'), 'utf8')
    const filled = ports.reduce((text, [from, to]) => text.replaceAll(from, to), documented)
    const config = join(cli.dataDir, 'Caddyfile')
    writeFileSync(config, `{\n\tadmin off\n}\n${filled}`)

    const server = cli.spawn(['serve', '--demo'], { PORT: `${latchkey}` })
    await server.says((stderr) => stderr.includes('demo.txt'))
    await followPage(join(DOCS, 'guides', 'gateways.md'), {
      cwd: cli.dataDir,
      env: process.env,
      replace: [...ports, ['docs/gateways/Caddyfile', config], ['data/demo.txt', 'demo.txt']],
    })
  } finally {
    cli.dispose()
  }
})
