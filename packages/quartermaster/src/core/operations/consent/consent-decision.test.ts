import { describe, expect, it } from 'vitest'
import type { ConsentAsk, GrantRow } from '../../../contracts/index.ts'
import { type ConsentQuestion, decideConsent } from './consent-decision.ts'

const NOW = 1_000_000
const [DIGEST, OTHER] = ['a'.repeat(64), 'b'.repeat(64)]

const ask = (more: Partial<ConsentAsk> = {}): ConsentAsk => ({
  operation: 'files.write',
  reason: 'It writes.',
  weight: 'moderate',
  scope: 'notes.md',
  grantable: 'any',
  ...more,
})

const grant = (more: Partial<GrantRow> = {}): GrantRow => ({
  id: 'grant_1',
  organisation: 'default',
  workspace: 'ada',
  callerKind: 'agent',
  callerName: 'ada',
  operation: 'files.write',
  scope: 'notes.md',
  decision: 'allow',
  lasting: 'time',
  tool: null,
  digest: null,
  askedFor: null,
  grantedBy: 'anna',
  via: 'person',
  createdAt: 0,
  expiresAt: NOW + 1,
  usedBy: null,
  usedAt: null,
  revokedAt: null,
  revokedBy: null,
  ...more,
})

const once = (more: Partial<GrantRow> = {}) =>
  grant({ lasting: 'once', tool: 'write_file', digest: DIGEST, askedFor: 'op_1', ...more })

function decide(more: Partial<ConsentQuestion> = {}) {
  return decideConsent({
    operationId: 'op_1',
    tool: 'write_file',
    digest: DIGEST,
    asks: [ask()],
    snapshot: new Set(),
    allowedNow: new Set(),
    grants: [],
    now: NOW,
    ...more,
  })
}

describe('a call that needs consent', () => {
  it('names who allowed it: the owner where the file does not apply, or not to all', () => {
    const [write, mail] = [ask({ grantable: 'once' }), ask({ operation: 'mail.send' })]
    const snapshot = new Set(['files.write'])
    const allowed = (by: string) => ({ kind: 'allowed', consent: { by } })
    const no = grant({ decision: 'deny', scope: 'other.md' })
    expect(decide({ snapshot, asks: [write] })).toMatchObject(allowed('file'))
    // The resource is unknown, and another one was denied: only an answer is valid.
    const answered = { snapshot, asks: [write], grants: [no], allowedNow: new Set(['files.write']) }
    expect(decide(answered)).toMatchObject(allowed('owner'))
    expect(decide({ snapshot, asks: [write, mail], allowedNow: new Set(['mail.send']) })).toMatchObject(
      allowed('owner'),
    )
    expect(decide({ snapshot, asks: [write], allowedNow: new Set(['files.write']) })).toMatchObject(allowed('file'))
  })

  it('is missing everything that is not allowed, at once', () => {
    const asks = [ask(), ask({ operation: 'files.delete' })]
    expect(decide({ asks })).toEqual({ kind: 'missing', asks })
    expect(decide({ asks, snapshot: new Set(['files.write']) })).toEqual({ kind: 'missing', asks: [asks[1]] })
  })

  it('is allowed by the owner’s file, and at the terminal', () => {
    expect(decide({ snapshot: new Set(['files.write']) })).toMatchObject({ kind: 'allowed', consent: { by: 'file' } })
    expect(decide({ allowedNow: new Set(['files.write']) })).toMatchObject({
      kind: 'allowed',
      consent: { by: 'owner' },
    })
  })

  it.each([
    ['for a while', grant()],
    ['as long as any answer lasts', grant({ lasting: 'always' })],
    ['for exactly these arguments', once()],
  ])('is allowed by a grant %s', (_, given) => {
    expect(decide({ grants: [given] })).toEqual({
      kind: 'allowed',
      consent: { operations: ['files.write'], by: 'person anna' },
      grants: [given],
    })
  })

  it.each<[string, Partial<GrantRow>]>([
    ['another operation', { operation: 'files.delete' }],
    ['another resource', { scope: 'other.md' }],
    ['no resource', { scope: null }],
    ['a time that is over', { expiresAt: NOW }],
    ['a person who revoked it', { revokedAt: 1 }],
  ])('is not allowed by a grant for %s', (_, more) => {
    expect(decide({ grants: [grant(more)] }).kind).toBe('missing')
  })

  it.each<[string, Partial<GrantRow>]>([
    ['other arguments', { digest: OTHER }],
    ['another tool', { tool: 'append_file' }],
    ['a call that used it up', { usedBy: 'op_0' }],
    ['another call with the same arguments', { askedFor: 'op_0' }],
  ])('is not allowed by a grant for one call with %s', (_, more) => {
    expect(decide({ grants: [once(more)] }).kind).toBe('missing')
  })

  it('may be tried again with the grant that it used up itself', () => {
    expect(decide({ grants: [once({ usedBy: 'op_1' })] }).kind).toBe('allowed')
  })

  it('leaves a grant for one call alone where one that lasts will do', () => {
    const lasting = grant({ id: 'grant_2' })
    expect(decide({ grants: [once(), lasting] })).toMatchObject({ grants: [lasting] })
  })

  it('is never allowed for longer where it may be allowed once only', () => {
    const asks = [ask({ grantable: 'once' })]
    expect(decide({ asks, grants: [grant(), grant({ lasting: 'always' })] }).kind).toBe('missing')
    expect(decide({ asks, grants: [once()] }).kind).toBe('allowed')
  })

  it('may be denied for longer also where it may be allowed once only', () => {
    const asks = [ask({ grantable: 'once' })]
    expect(decide({ asks, grants: [grant({ decision: 'deny' })] }).kind).toBe('denied')
  })

  it('is denied by a no, whatever else was allowed', () => {
    const no = grant({ id: 'grant_no', decision: 'deny' })
    expect(decide({ grants: [grant(), once(), no], snapshot: new Set(['files.write']) })).toEqual({
      kind: 'denied',
      grant: no,
    })
    expect(decide({ grants: [{ ...no, scope: 'other.md' }] }).kind).toBe('missing')
  })

  it('checks each resource: a bundle with one resource missing is not allowed', () => {
    const asks = [ask(), ask({ operation: 'files.delete', scope: null })]
    expect(decide({ asks, grants: [grant()] })).toEqual({ kind: 'missing', asks: [asks[1]] })
    const both = [grant(), grant({ id: 'grant_2', operation: 'files.delete', scope: null })]
    expect(decide({ asks, grants: both }).kind).toBe('allowed')
  })
})
