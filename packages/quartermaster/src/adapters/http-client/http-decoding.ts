import * as zlib from 'node:zlib'
import type { BodyReader, HttpBody } from './http-answer.ts'

/** A body without its compression. Nobody is asked for one; some servers compress all the same. One that is not known here is left. */
export function decoded(body: HttpBody, encoding: string | string[] | undefined): HttpBody {
  const steps = decodersFor(encoding)
  return steps ? steps.reduce((inner, open) => through(open, inner), body) : body
}

/** Whether a body is compressed in a way that nobody here knows, by what the server says of it. */
export function isUndecoded(encoding: string | string[] | undefined): boolean {
  return decodersFor(encoding) === undefined
}

/** Nobody who means well puts one into another more often. */
const MOST_CODINGS = 3

/** What is to be undone, one after the other; nothing where one is not known. */
function decodersFor(encoding: string | string[] | undefined): (() => Decoder)[] | undefined {
  if (encoding === undefined) return []
  const codings = String(encoding)
    .split(',')
    .map(coding => coding.trim().toLowerCase())
    .filter(coding => coding !== '' && coding !== 'identity')
  // The last was put on last (RFC 9110 §8.4).
  const steps = codings.toReversed().flatMap(coding => DECODERS.get(coding) ?? [])
  return codings.length > MOST_CODINGS || steps.length < codings.length ? undefined : steps
}

type Decoder = zlib.Gunzip | zlib.BrotliDecompress

/** By the server's own word, which may be any. */
const DECODERS: ReadonlyMap<string, () => Decoder> = new Map<string, () => Decoder>([
  ['gzip', () => zlib.createGunzip({ flush: zlib.constants.Z_SYNC_FLUSH })],
  ['x-gzip', () => zlib.createGunzip({ flush: zlib.constants.Z_SYNC_FLUSH })],
  ['deflate', () => zlib.createInflate({ flush: zlib.constants.Z_SYNC_FLUSH })],
  ['br', () => zlib.createBrotliDecompress({ flush: zlib.constants.BROTLI_OPERATION_FLUSH })],
])

function through(open: () => Decoder, body: HttpBody): HttpBody {
  // With the first byte: many answers have none, and those are no compressed ones.
  let decoder: Decoder | undefined
  function begin({ onData, onEnd, onFail }: BodyReader): Decoder {
    const made = open()
    made.on('data', onData)
    made.once('end', onEnd)
    made.on('error', cause => {
      body.destroy()
      onFail(cause)
    })
    made.on('drain', () => body.resume())
    return made
  }
  return {
    read(reader) {
      body.read({
        onData(chunk) {
          decoder ??= begin(reader)
          if (!decoder.write(chunk)) body.pause()
        },
        onEnd: () => (decoder ? void decoder.end() : reader.onEnd()),
        onFail: cause => (decoder ? void decoder.destroy(cause) : reader.onFail(cause)),
      })
    },
    pause: () => void (decoder ? decoder.pause() : body.pause()),
    resume: () => void (decoder ? decoder.resume() : body.resume()),
    destroy() {
      decoder?.removeAllListeners('data').removeAllListeners('end')
      decoder?.destroy()
      body.destroy()
    },
  }
}
