import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

/** Tells whether a candidate is this token. Digests have one length, so that the comparison takes one time. */
export function verifier(token: string): (candidate: string) => boolean {
  const expected = sha256(token)
  return candidate => timingSafeEqual(sha256(candidate), expected)
}

/**
 * Proves that one knows this token without saying it. The port is part of the proof, so that a program on a port that
 * was ours cannot fetch the proof from where we are now.
 */
export function prover(token: string): (challenge: string, port: number) => string {
  return (challenge, port) =>
    createHmac('sha256', token).update(`quartermaster owner\n${port}\n${challenge}`).digest('base64url')
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
