import * as zlib from 'node:zlib'
import type { HttpBody } from './http-answer.ts'

/** A body without its compression. Nobody is asked for one; some servers compress all the same. */
export function decoded(body: HttpBody, encoding: string | string[] | undefined): HttpBody {
  if (encoding === undefined) return body
  const decoder = DECODERS.get(String(encoding).toLowerCase())?.()
  return decoder ? through(decoder, body) : body
}

type Decoder = zlib.Gunzip | zlib.BrotliDecompress

/** By the server's own word, which may be any. */
const DECODERS: ReadonlyMap<string, () => Decoder> = new Map<string, () => Decoder>([
  ['gzip', () => zlib.createGunzip({ flush: zlib.constants.Z_SYNC_FLUSH })],
  ['x-gzip', () => zlib.createGunzip({ flush: zlib.constants.Z_SYNC_FLUSH })],
  ['deflate', () => zlib.createInflate({ flush: zlib.constants.Z_SYNC_FLUSH })],
  ['br', () => zlib.createBrotliDecompress({ flush: zlib.constants.BROTLI_OPERATION_FLUSH })],
])

function through(decoder: Decoder, body: HttpBody): HttpBody {
  return {
    read({ onData, onEnd, onFail }) {
      decoder.on('data', onData)
      decoder.once('end', onEnd)
      decoder.on('error', cause => {
        body.destroy()
        onFail(cause)
      })
      decoder.on('drain', () => body.resume())
      body.read({
        onData(chunk) {
          if (!decoder.write(chunk)) body.pause()
        },
        onEnd: () => void decoder.end(),
        onFail: cause => void decoder.destroy(cause),
      })
    },
    pause: () => void decoder.pause(),
    resume: () => void decoder.resume(),
    destroy() {
      decoder.removeAllListeners('data').removeAllListeners('end')
      decoder.destroy()
      body.destroy()
    },
  }
}
