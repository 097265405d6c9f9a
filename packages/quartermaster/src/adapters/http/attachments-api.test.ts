import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type AttachmentFacts, DEFAULT_SETTINGS } from '../../contracts/index.ts'
import { type Attachments, attachmentHandlers } from '../../core/attachments/index.ts'
import { createApiService, organisationHandlers } from '../../core/organisation/index.ts'
import { update } from '../../core/store/index.ts'
import { openAttachments } from '../../testing/attachment-fixture.ts'
import { deferred } from '../../testing/deferred.ts'
import { ADMIN_TOKEN, startHttpServer } from '../../testing/http-server.ts'
import { openOrganisation } from '../../testing/organisation-fixture.ts'

const SETTINGS = { ...DEFAULT_SETTINGS, attachmentMegabytes: 1 }
const large = Buffer.alloc(600_000, createHash('sha512').update('x').digest())

async function open({ betweenPieces = async () => {} }: { betweenPieces?(): Promise<void> } = {}) {
  const { organisation, store, clock } = await openOrganisation()
  const service = openAttachments(store, SETTINGS)
  const handlers = organisationHandlers({ organisation, store, clock, skillsOf: () => undefined, version: '1' })
  const attachments: Attachments = {
    ...service.attachments,
    async open(...asked) {
      const opened = await service.attachments.open(...asked)
      return { ...opened, content: inSteps(opened.content, betweenPieces) }
    },
  }
  const server = await startHttpServer({
    api: {
      service: createApiService({ ...handlers, ...attachmentHandlers(attachments) }),
      clock,
      identify: organisation.identify,
      expectOrganisation: organisation.organisations.expect,
      onAccessChange: organisation.onAccessChange,
      settings: SETTINGS,
    },
  })
  onTestFinished(() => server.close(0))
  const api = `${server.url}/api/v1`
  const send = (path: string, { token = ADMIN_TOKEN, headers = {}, ...init }: Sent = {}) =>
    fetch(`${api}${path}`, { ...init, headers: { Authorization: `Bearer ${token}`, ...headers } })
  const upload = (body: Body, { query = '?name=a.txt', ...more }: Sent & { query?: string } = {}) =>
    send(`/attachments${query}`, { method: 'POST', body, duplex: 'half', ...more } as Sent)
  const member = async (name: string, within = 'default') => {
    const { id } = await organisation.workspaces.create(within, { name })
    const { token, facts } = await organisation.tokens.create({ organisation: within, agent: name })
    return { id, token, tokenId: facts.id }
  }
  return { ...service, organisation, store, api, send, upload, member }
}

async function* inSteps(content: AsyncIterable<Uint8Array>, step: () => Promise<void>): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    yield piece
    await step()
  }
}

type Body = NonNullable<RequestInit['body']>
interface Sent extends Omit<RequestInit, 'headers'> {
  readonly token?: string
  readonly headers?: Record<string, string>
}

const made = async (answer: Promise<Response>) => (await (await answer).json()) as AttachmentFacts & { code: string }

const codeOf = async (answer: Response) => ((await answer.json()) as { code: string }).code

/** A body that says nothing of its size, in steps. */
function streamed(...pieces: readonly Uint8Array[]): ReadableStream {
  return ReadableStream.from(pieces)
}

describe('attachments over HTTP', () => {
  it('go in and come out as a stream, under any name, with headers that keep a browser from running them', async () => {
    const { upload, send } = await open()
    const name = 'Zoë’s 報告 "1"/\\..\u202egpj.exe 😀'
    const disposition = `attachment; filename="x"; filename*=UTF-8''${encodeURIComponent(name)}`
    const headers = { 'Content-Disposition': disposition, 'Content-Type': 'text/HTML; charset=utf-8' }
    const answer = await upload(streamed(large.subarray(0, 7), large.subarray(7)), { query: '', headers })
    expect(answer.status).toBe(201)
    const facts = (await answer.json()) as AttachmentFacts
    const sha256 = createHash('sha256').update(large).digest('hex')
    expect(facts).toEqual({ id: expect.any(String), name, mediaType: 'text/html', size: large.length, sha256 })
    expect(await made(send(`/attachments/${facts.id}`))).toEqual(facts)
    const content = await send(`/attachments/${facts.id}/content`)
    expect(Buffer.from(await content.arrayBuffer()).equals(large)).toBe(true)
    expect(Object.fromEntries(content.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': String(large.length),
      'content-disposition': expect.stringMatching(/^attachment; filename="[ -~]+"; filename\*=UTF-8''[\w%!.~-]+$/),
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringMatching(/^sandbox; default-src 'none'/),
      'cache-control': 'private, no-cache',
      'accept-ranges': 'none',
      etag: `"${sha256}"`,
    })
    const head = await send(`/attachments/${facts.id}/content`, { method: 'HEAD' })
    expect(head.headers.get('content-length')).toBe(String(large.length))
    const known = await send(`/attachments/${facts.id}/content`, { headers: { 'If-None-Match': `"${sha256}"` } })
    expect(known.status).toBe(304)
  })

  it('may be empty, and are kept once', async () => {
    const { upload, send, rows } = await open()
    const empty = await made(upload(Buffer.alloc(0)))
    const content = await send(`/attachments/${empty.id}/content`)
    expect([content.status, content.headers.get('content-length'), await content.text()]).toEqual([200, '0', ''])
    const twice = await Promise.all([made(upload(large)), made(upload(large))])
    expect(twice[0]?.id).not.toBe(twice[1]?.id)
    expect(await rows()).toMatchObject({ attachments: 3, blobs: 2 })
  })

  it('that are too large are refused, with and without their size said, and leave nothing', async () => {
    const { upload, rows } = await open()
    const over = Buffer.alloc(1_048_577)
    for (const body of [over, streamed(over.subarray(0, 600_000), over.subarray(600_000))]) {
      const answer = await upload(body)
      expect([answer.status, await codeOf(answer)]).toEqual([413, 'LIMIT_EXCEEDED'])
    }
    expect(await rows()).toEqual({ attachments: 0, blobs: 0, chunks: 0, uses: 0 })
  })

  it('need a name and a type, and are no forms', async () => {
    const { upload } = await open()
    const form = new FormData()
    form.append('file', new Blob(['x']), 'x')
    const answers = await Promise.all([
      upload('x', { query: '' }),
      upload('x', { query: `?name=${'x'.repeat(256)}` }),
      upload('x', { query: '?name=%ff%fe' }),
      upload('x', { query: '?name=a%20%e4.txt' }),
      upload('x', { headers: { 'Content-Type': 'nonsense' } }),
      upload(form),
    ])
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 400])
    expect(await made(upload('x', { query: '?name=100%%20%e2%9c%93' }))).toMatchObject({ name: '100% ✓' })
  })

  it('that are cut off leave nothing', async () => {
    const { api, store, rows } = await open()
    const headers = { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Length': String(large.length) }
    const sending = request(`${api}/attachments?name=x`, { method: 'POST', headers })
    sending.on('error', () => {})
    sending.write(large.subarray(0, 550_000))
    await expect.poll(() => store.count('chunks')).toBe(2)
    sending.destroy()
    await expect.poll(rows).toEqual({ attachments: 0, blobs: 0, chunks: 0, uses: 0 })
  })

  it('that are damaged break off', async () => {
    const { upload, send, store } = await open()
    const [whole, small] = [await made(upload(large)), await made(upload('hello'))]
    await store.commit([
      update('chunks', { where: { position: { above: 0 } }, set: { bytes: Buffer.alloc(9) }, rows: 'any' }),
    ])
    const [{ blobId = '' } = {}] = await store.find('attachments', { where: { id: small.id } })
    await store.commit([update('chunks', { where: { blobId }, set: { bytes: Buffer.from('jello') } })])
    await expect(send(`/attachments/${whole.id}/content`).then(answer => answer.arrayBuffer())).rejects.toThrow()
    const answer = await send(`/attachments/${small.id}/content`)
    expect([answer.status, await codeOf(answer)]).toEqual([500, 'INTERNAL'])
  })

  it('of others are as if they were not there, and a token that is taken back during an upload does not count', async () => {
    const { upload, send, member, organisation, store, rows } = await open()
    await organisation.organisations.create({ name: 'acme' })
    const [ada, bob, eve] = [await member('ada'), await member('bob'), await member('eve', 'acme')]
    const { id } = await made(upload('secret', { token: ada.token }))
    for (const path of [`/attachments/${id}`, `/attachments/${id}/content`]) {
      expect((await send(path, { token: ada.token })).status).toBe(200)
      expect((await send(path)).status).toBe(200)
      for (const { token } of [bob, eve]) {
        const [answer, none] = [await send(path, { token }), await send(path.replace(id, 'att_none'), { token })]
        expect([answer.status, (await answer.text()).replaceAll(id, 'att_none')]).toEqual([404, await none.text()])
      }
      expect((await send(path, { token: 'qm_guess' })).status).toBe(401)
    }
    const before = await rows()
    const late = new ReadableStream({
      async start(controller) {
        controller.enqueue(large)
        await expect.poll(() => store.count('chunks')).toBe(before.chunks + 2)
        await organisation.tokens.revoke(ada.tokenId)
        controller.close()
      },
    })
    expect((await upload(late, { token: ada.token })).status).toBe(401)
    expect(await rows()).toEqual(before)
    expect((await send(`/attachments/${id}/content`, { token: ada.token })).status).toBe(401)
  })

  it('break off for whoever may not have them any more', async () => {
    const begun = deferred<void>()
    const goOn = deferred<void>()
    const { upload, send, member, organisation } = await open({
      betweenPieces() {
        begun.resolve()
        return goOn.promise
      },
    })
    const ada = await member('ada')
    const { id } = await made(upload(large, { token: ada.token }))
    const content = await send(`/attachments/${id}/content`, { token: ada.token })
    await begun.promise
    await organisation.tokens.revoke(ada.tokenId)
    await expect(content.arrayBuffer()).rejects.toThrow()
    goOn.resolve()
  })
})
