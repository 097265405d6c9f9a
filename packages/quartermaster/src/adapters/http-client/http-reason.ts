import { excerptOf } from '../../core/upstreams/index.ts'

/** What is shown of a server's words. */
export const MOST_SAID = 300

/** Why there is no answer. A model may read the reason; what was said may be the words of a stranger, and is for people alone. */
export interface Reason {
  /** A part of a sentence of ours. */
  readonly reason: string
  readonly said?: string | undefined
}

/** Something that we found out ourselves. Its message is in our words. */
export class OwnReason extends Error {}

/**
 * Why an exchange failed, as a part of a sentence. A model may read it, so what the machinery says is kept apart: it may
 * quote the server, as it does the names in a certificate.
 */
export function reasonOf(cause: unknown): Reason {
  if (cause instanceof OwnReason) return { reason: cause.message }
  const { code = '', message = '' } = cause instanceof Error ? (cause as NodeJS.ErrnoException) : {}
  const reason = code.startsWith('HPE_') ? 'it does not speak HTTP' : WORDS[code]
  return reason === undefined
    ? { reason: 'the connection failed', said: excerptOf(message || code, MOST_SAID) }
    : { reason }
}

const BROKE = 'the connection broke'
const TOO_LATE = 'no connection in time'
const NO_WAY = 'there is no way to it'
const UNTRUSTED = 'its certificate is signed by nobody who is trusted here'

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: BROKE,
  UND_ERR_SOCKET: BROKE,
  UND_ERR_DESTROYED: 'the connection was closed',
  UND_ERR_CONNECT_TIMEOUT: TOO_LATE,
  UND_ERR_HEADERS_OVERFLOW: 'its headers are too long',
  EPIPE: BROKE,
  ENOTFOUND: 'there is no such name',
  EAI_AGAIN: 'its name could not be looked up',
  ETIMEDOUT: TOO_LATE,
  EHOSTUNREACH: NO_WAY,
  ENETUNREACH: NO_WAY,
  EPROTO: 'TLS is not spoken there as it is here',
  ERR_SSL_WRONG_VERSION_NUMBER: 'TLS is not spoken there as it is here',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself',
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  Z_DATA_ERROR: 'it is not compressed as it says',
  Z_BUF_ERROR: 'it is not compressed as it says',
}
