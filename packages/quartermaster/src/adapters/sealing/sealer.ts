import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { AppError } from '../../contracts/index.ts'
import type { SealedPlace, Sealer } from '../../core/store/index.ts'
import { readKeys } from './key-file.ts'

const ALGORITHM = 'aes-256-gcm'
/** The length that GCM is made for. Random ones are safe for 2³² texts a key (NIST SP 800-38D §8.3). */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** `s1.<key>.<nonce, text and tag>`: the form and the key are named, so that either can be replaced later. */
const FORM = 's1'
const SEALED = /^s1\.([\w-]{8})\.([\w-]{38,})$/

/** Seals with AES-256-GCM and the newest key of the file, which is made when it is not there. */
export async function createSealer({ keyFile }: { readonly keyFile: string }): Promise<Sealer> {
  const keys = await readKeys(keyFile)
  const byName = new Map(keys.map(key => [nameOf(key), key]))
  const [newest, newestKey] = [...byName].at(-1) ?? []
  if (newest === undefined || !newestKey) throw new AppError('CONFIG_INVALID', `"${keyFile}" does not hold a key.`)
  return {
    seal(text, place) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(ALGORITHM, newestKey, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(contextOf(newest, place))
      const sealed = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `${FORM}.${newest}.${sealed.toString('base64url')}`
    },
    open(sealed, place) {
      const [, name = '', body = ''] = SEALED.exec(sealed) ?? []
      const key = byName.get(name)
      if (!key) throw unreadable(place, name === '' ? 'it is not a sealed text' : `its key is not in "${keyFile}"`)
      return decipher({ key, name, bytes: Buffer.from(body, 'base64url'), place })
    },
  }
}

/** Tells keys apart and says nothing about them: 256 random bits cannot be found from 48 bits of their hash. */
function nameOf(key: Buffer): string {
  return createHash('sha256').update(key).digest().subarray(0, 6).toString('base64url')
}

/** Authenticated with the text: moved to another row or column it does not open. As JSON, so that no two are alike. */
function contextOf(name: string, { table, id, column }: SealedPlace): Buffer {
  return Buffer.from(JSON.stringify([FORM, name, table, id, column]))
}

interface Sealed {
  readonly key: Buffer
  readonly name: string
  readonly bytes: Buffer
  readonly place: SealedPlace
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

function unreadable({ table, id, column }: SealedPlace, reason: string, cause?: unknown): AppError {
  const message = `The sealed "${column}" of "${id}" in ${table} cannot be opened: ${reason}.`
  const next = 'Put the key file and the store back from the same backup, or enter the value anew.'
  return new AppError('INTERNAL', `${message} ${next}`, { cause, details: { table, id, column } })
}
