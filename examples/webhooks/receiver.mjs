// A receiver of webhooks. It verifies the signature, refuses what is older than five minutes, and answers before it works.
// The secret is in SECRET, the port in PORT.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const key = Buffer.from(process.env.SECRET.replace('whsec_', ''), 'base64')

function isGenuine(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signatures = '' } = headers
  if (!(Math.abs(Date.now() / 1000 - Number(at)) < 300)) return false
  const expected = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest()
  return signatures.split(' ').some((signature) => {
    const given = Buffer.from(signature.replace(/^v1,/, ''), 'base64')
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}

createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString()
    if (!isGenuine(request.headers, body)) return response.writeHead(400).end()
    response.writeHead(204).end()
    console.log(JSON.parse(body).type)
  })
}).listen(process.env.PORT)
