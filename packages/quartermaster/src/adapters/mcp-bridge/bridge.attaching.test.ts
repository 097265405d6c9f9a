import { expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import type { Gateway, OpenFiles } from './index.ts'
import { bridge, endpoint, type Visit } from './testing/bridge-fixture.ts'

const BYTES = Buffer.from('{"rows":[1,2,3]}')

/** Files that are there by their names, all with the same content. */
const openFiles: OpenFiles = async ({ folder, paths, maxBytes }, work) => {
  const files = paths.map(path => {
    if (folder !== '/work' || path.startsWith('..')) throw new AppError('INPUT_INVALID', 'It is outside.')
    if (path === 'large') throw new AppError('LIMIT_EXCEEDED', `It has more than ${maxBytes} bytes.`)
    const size = path === 'grown' ? BYTES.length - 1 : BYTES.length
    const content = {
      [Symbol.asyncIterator]: async function* () {
        yield BYTES
      },
    }
    return { name: path, mediaType: 'application/json', size, identity: `1:${path}`, content }
  })
  return work(files)
}

async function desk(onUpload: (visit: Visit, count: number) => void = visit => visit.json(201, { id: 'att_1' })) {
  let uploads = 0
  const { url, visits } = await endpoint(visit => {
    if (visit.body.method === undefined) onUpload(visit, ++uploads)
    else visit.answer({ resultType: 'complete', content: [] })
  })
  const files = {
    workspaceDir: '/work',
    maxBytes: 100,
    inputs: [{ tool: 'send', input: 'attachments' }],
    url: url.replace('/mcp', '/api/v1/attachments'),
  }
  const extend = async () => {}
  const find = async (): Promise<Gateway> => ({ url, token: 't', goodForMs: 60_000, files, extend, giveBack: extend })
  const at = bridge({ find, openFiles })
  let id = 0
  const call = async (name: string, input: object) => {
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
    at.send({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params: { _meta, name, arguments: input } })
    return (await at.next()) as { result: { isError?: boolean; _meta?: { 'quartermaster/error': { code: string } } } }
  }
  const calls = () => visits.filter(({ body }) => body.method === 'tools/call').map(visit => argumentsOf(visit))
  return { call, calls, uploads: () => uploads, visits }
}

function argumentsOf({ body }: Visit): unknown {
  return (body.params as { arguments: unknown }).arguments
}

it('hands in the files that a call names, once, and passes their ids on', async () => {
  const { call, calls, uploads, visits } = await desk()
  await call('send', { attachments: ['a.json', 'att_0', 'a.json'] })
  await call('call_tool', { name: 'send', arguments: { attachments: ['a.json'] } })
  expect(calls()).toEqual([
    { attachments: ['att_1', 'att_0', 'att_1'] },
    { name: 'send', arguments: { attachments: ['att_1'] } },
  ])
  expect(uploads()).toBe(1)
  expect(visits[0]).toMatchObject({
    headers: { authorization: 'Bearer t', 'content-type': 'application/json', 'content-length': '16' },
    body: { rows: [1, 2, 3] },
  })
})

it('leaves the paths of other tools as they are, and lists that no message may have', async () => {
  const { call, calls, uploads } = await desk()
  const many = Array.from({ length: 33 }, (_, i) => `${i}.json`)
  await call('upload', { attachments: ['a.json'] })
  await call('send', { attachments: many })
  expect(calls()).toEqual([{ attachments: ['a.json'] }, { attachments: many }])
  expect(uploads()).toBe(0)
})

it.each([
  ['the connection was lost on the way', (visit: Visit) => visit.drop()],
  ['it was lost with half of the answer', (visit: Visit) => void half(visit)],
  ['the server is about to stop', (visit: Visit) => visit.json(503, { code: 'STOPPING', detail: 'It stops.' })],
  ['something in between answers', (visit: Visit) => void visit.response.writeHead(502).end('<html>')],
])('hands a file in again when %s', async (_what, fail) => {
  const { call, calls } = await desk((visit, count) => (count === 1 ? fail(visit) : visit.json(201, { id: 'att_2' })))
  await call('send', { attachments: ['a.json'] })
  expect(calls()).toEqual([{ attachments: ['att_2'] }])
})

function half({ response }: Visit): void {
  response.writeHead(201, { 'content-length': '100' }).write('{"id":"att', () => response.destroy())
}

it.each([
  ['outside', '../a.json', 'INPUT_INVALID', 0],
  ['too large', 'large', 'LIMIT_EXCEEDED', 0],
  ['written to meanwhile', 'grown', 'EDIT_CONFLICT', 1],
  ['refused by the server', 'a.json', 'RATE_LIMITED', 2],
])(
  'passes nothing on when a file is %s, and says so as the result of the call',
  async (_what, path, code, handedIn) => {
    const refuse = (visit: Visit) => visit.json(429, { code: 'RATE_LIMITED', detail: 'Wait.' })
    const { call, calls, uploads } = await desk((visit, count) =>
      count === 1 ? visit.json(201, { id: 'att_1' }) : refuse(visit),
    )
    const { result } = await call('send', { attachments: ['good.json', path] })
    expect(result).toMatchObject({ isError: true, _meta: { 'quartermaster/error': { code } } })
    expect(calls()).toEqual([])
    // What is wrong with a file is seen before any of them is handed in.
    expect(uploads()).toBe(handedIn)
  },
)
