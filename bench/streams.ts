// Many event streams that are read at the same time, as bytes: a client for each would cost more than what is measured.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { bearer, get } from './requests.ts'

export interface Streams {
  /** Resolves when each stream has got another event. */
  next(): Promise<void>
  close(): void
}

export async function openStreams(port: number, key: string, count: number): Promise<Streams> {
  const sockets: Socket[] = []
  const waiting = new Set<Socket>()
  let isDone = () => {}
  for (let n = 0; n < count; n++) {
    const socket = connect(port, '127.0.0.1')
    socket.write(get('/api/v1/apiClient/events', bearer(key)))
    await once(socket, 'data')
    socket.on('data', (bytes: Buffer) => {
      if (!bytes.includes('data:')) return
      waiting.delete(socket)
      if (waiting.size === 0) isDone()
    })
    sockets.push(socket)
  }
  return {
    next() {
      for (const socket of sockets) waiting.add(socket)
      return new Promise((resolve) => {
        isDone = resolve
      })
    },
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}
