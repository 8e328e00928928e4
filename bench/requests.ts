// Requests as bytes on the wire.
export function get(path: string, bearer: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${bearer}\r\n\r\n`
}

export function put(path: string, bearer: string, body: object): string {
  return withBody('PUT', path, `Authorization: Bearer ${bearer}`, body)
}

export function withBody(method: string, path: string, header: string, body: object): string {
  const text = JSON.stringify(body)
  const length = Buffer.byteLength(text)
  return `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${header}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${text}`
}
