// What the answer to a change has to do with verifiers that must confirm it: see tokens/verifiers/gate.ts.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { seesVerifiers } from '../../tokens/model/permissions.ts'
import type { GateEvents } from '../../tokens/verifiers/gate.ts'

/** Longer than a change can wait for verifiers; the usual limit is for clients that read nothing of their response. */
const CONFIRMATION_MS = 90_000

export function gateEvents({ raw: { socket }, caller }: FastifyRequest, reply: FastifyReply): GateEvents {
  return {
    // Node.js sets it back at the next request of the connection.
    onWaiting: () => void socket.setTimeout(CONFIRMATION_MS),
    onConfirmed(confirmed, of) {
      const isTold = caller !== undefined && seesVerifiers(caller.permissions)
      if (isTold) reply.header('x-latchkey-confirmed', `${confirmed}/${of}`)
    },
  }
}
