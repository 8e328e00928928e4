// A file that decides who gets in. It is checked on every use, so that what was removed from it no longer counts at once, and
// read again only when it has changed. A missing or invalid file throws: what was read before may have been removed from it.
import { readFileSync, statSync } from 'node:fs'

export function watchedFile<Value>(path: string, parse: (text: string) => Value): () => Value {
  let read = readNow(path, parse)
  return () => {
    if (stateOf(path) !== read.state) read = readNow(path, parse)
    return read.value
  }
}

function readNow<Value>(path: string, parse: (text: string) => Value) {
  // State before content: a write between the two lines is then noticed at the next check.
  const state = stateOf(path)
  return { state, value: parse(readFileSync(path, 'utf8')) }
}

function stateOf(path: string): string {
  const { ino, size, mtimeMs } = statSync(path)
  return `${ino} ${size} ${mtimeMs}`
}
