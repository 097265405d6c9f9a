import * as zlib from 'node:zlib'
import type { BodyReader, HttpBody } from './http-answer.ts'
import { OwnReason } from './http-reason.ts'

/** What becomes of a body that is compressed in a way which nobody here knows. */
export type UnknownCoding = 'pass' | 'fail'

/** A body without its compression. Nobody is asked for one; some servers compress all the same. */
export function decoded(
  body: HttpBody,
  encoding: string | string[] | undefined,
  unknown: UnknownCoding = 'pass',
): HttpBody {
  if (encoding === undefined) return body
  const codings = String(encoding)
    .split(',')
    .map(coding => coding.trim().toLowerCase())
    .filter(coding => coding !== '' && coding !== 'identity')
  // The last was put on last (RFC 9110 §8.4).
  const steps = codings.toReversed().map(coding => DECODERS.get(coding))
  if (codings.length > MOST_CODINGS || steps.includes(undefined)) return unknown === 'fail' ? undecodable(body) : body
  return steps.reduce((inner, open) => (open ? through(open, inner) : inner), body)
}

/** Nobody who means well puts one into another more often. */
const MOST_CODINGS = 3

/** Handed on, it would pass for what the server said. Where there is nothing, nothing has to be known about it. */
function undecodable(body: HttpBody): HttpBody {
  return {
    ...body,
    read({ onEnd, onFail }) {
      let isOver = false
      const fail = (cause: Error) => {
        if (!isOver) onFail(cause)
        isOver = true
      }
      body.read({
        onData() {
          body.destroy()
          fail(new OwnReason('it is compressed in a way that is not known here'))
        },
        onEnd,
        onFail: fail,
      })
    },
  }
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
