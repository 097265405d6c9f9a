import { expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import type { Gateway, OpenFile } from './index.ts'
import { bridge, endpoint, type Visit } from './testing/bridge-desk.ts'

const BYTES = Buffer.from('{"rows":[1,2,3]}')

/** Files that are there by their names, all with the same content. */
const openFile: OpenFile = async ({ folder, path }, work) => {
  if (folder !== '/work' || path.startsWith('..')) throw new AppError('INPUT_INVALID', 'It is outside.')
  const size = path === 'large' ? 1_000 : path === 'grown' ? BYTES.length - 1 : BYTES.length
  const content = {
    [Symbol.asyncIterator]: async function* () {
      yield BYTES
    },
  }
  return work({ name: path, mediaType: 'application/json', size, identity: `1:${path}`, content })
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
  const at = bridge({ find, openFile })
  let id = 0
  const call = async (name: string, input: object) => {
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' }
    at.send({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params: { _meta, name, arguments: input } })
    return (await at.next()) as { result: { isError?: boolean; structuredContent?: { error: { code: string } } } }
  }
  const calls = () => visits.filter(({ body }) => body.method === 'tools/call').map(visit => argumentsOf(visit))
  return { call, calls, uploads: () => uploads, visits }
}

function argumentsOf({ body }: Visit): unknown {
  return (body.params as { arguments: unknown }).arguments
}

it('hands in the files that a call names, once, and passes their ids on', async () => {
  const { call, calls, uploads, visits } = await desk()
  await call('send', { attachments: ['a.json', 'att_0'] })
  await call('call_tool', { name: 'send', arguments: { attachments: ['a.json'] } })
  expect(calls()).toEqual([
    { attachments: ['att_1', 'att_0'] },
    { name: 'send', arguments: { attachments: ['att_1'] } },
  ])
  expect(uploads()).toBe(1)
  expect(visits[0]).toMatchObject({
    headers: { authorization: 'Bearer t', 'content-type': 'application/json', 'content-length': '16' },
    body: { rows: [1, 2, 3] },
  })
})

it('leaves the paths of other tools as they are', async () => {
  const { call, calls, uploads } = await desk()
  await call('upload', { attachments: ['a.json'] })
  expect(calls()).toEqual([{ attachments: ['a.json'] }])
  expect(uploads()).toBe(0)
})

it('hands a file in again when the connection was lost on the way', async () => {
  const { call, calls } = await desk((visit, count) => (count === 1 ? visit.drop() : visit.json(201, { id: 'att_2' })))
  await call('send', { attachments: ['a.json'] })
  expect(calls()).toEqual([{ attachments: ['att_2'] }])
})

it.each([
  ['outside', '../a.json', 'INPUT_INVALID'],
  ['too large', 'large', 'LIMIT_EXCEEDED'],
  ['written to meanwhile', 'grown', 'EDIT_CONFLICT'],
  ['refused by the server', 'a.json', 'RATE_LIMITED'],
])('passes nothing on when a file is %s, and says so as the result of the call', async (_what, path, code) => {
  const { call, calls } = await desk(visit => visit.json(429, { code: 'RATE_LIMITED', detail: 'Wait.' }))
  const { result } = await call('send', { attachments: [path] })
  expect(result).toMatchObject({ isError: true, structuredContent: { error: { code } } })
  expect(calls()).toEqual([])
})
