import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { AppError } from '../../contracts/index.ts'
import type { SealContext, Sealer } from '../../core/store/index.ts'

const ALGORITHM = 'aes-256-gcm'
const KEY_BYTES = 32
/** The length that GCM is made for. Random ones are safe for 2³² texts a key (NIST SP 800-38D §8.3). */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** `s1.<key>.<nonce, text and tag>`: the form and the key are named, so that either can be replaced later. */
const FORM = 's1'
const SEALED = /^s1\.([\w-]{8})\.([\w-]{38,})$/

/** Seals with AES-256-GCM and this key of 256 bits. */
export function createSealer({ key }: { readonly key: Uint8Array }): Sealer {
  if (key.length !== KEY_BYTES) throw new AppError('CONFIG_INVALID', `A sealing key has ${KEY_BYTES} bytes.`)
  const name = nameOf(key)
  return {
    seal(text, place) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(contextOf(name, place))
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `${FORM}.${name}.${sealed.toString('base64url')}`
    },
    open(sealed, place) {
      const [, sealedWith, body = ''] = SEALED.exec(sealed) ?? []
      if (sealedWith === undefined) throw unreadable(place, 'it is not a sealed text')
      if (sealedWith !== name) throw unreadable(place, 'its key is not the one in the data folder')
      return decipher({ key, name, bytes: Buffer.from(body, 'base64url'), place })
    },
  }
}

/** Tells keys apart and says nothing about them: 256 random bits cannot be found from 48 bits of their hash. */
function nameOf(key: Uint8Array): string {
  return createHash('sha256').update(key).digest().subarray(0, 6).toString('base64url')
}

/** Authenticated with the text: moved to another row or column it does not open. As JSON, so that no two are alike. */
function contextOf(name: string, { table, id, column }: SealContext): Buffer {
  return Buffer.from(JSON.stringify([FORM, name, table, id, column]))
}

interface Sealed {
  readonly key: Uint8Array
  readonly name: string
  readonly bytes: Buffer
  readonly place: SealContext
}

function decipher({ key, name, bytes, place }: Sealed): string {
  try {
    const decipherer = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
    decipherer.setAAD(contextOf(name, place))
    decipherer.setAuthTag(bytes.subarray(-TAG_BYTES))
    const text = decipherer.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES))
    return Buffer.concat([text, decipherer.final()]).toString('utf8')
  } catch (error) {
    throw unreadable(place, 'it was changed, or belongs somewhere else', error)
  }
}

function unreadable({ table, id, column }: SealContext, reason: string, cause?: unknown): AppError {
  const message = `The sealed "${column}" of "${id}" in ${table} cannot be opened: ${reason}.`
  const next = 'Put the key file and the store back from the same backup, or enter the value again.'
  return new AppError('INTERNAL', `${message} ${next}`, { cause, details: { table, id, column } })
}
