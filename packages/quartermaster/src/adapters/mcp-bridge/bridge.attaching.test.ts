import { expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import type { Gateway, OpenFiles } from './index.ts'
import { bridge, endpoint, type ReceivedRequest } from './testing/bridge-fixture.ts'

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

async function desk(
  onUpload: (incoming: ReceivedRequest, count: number) => void = incoming => incoming.json(201, { id: 'att_1' }),
) {
  let uploads = 0
  const { url, received } = await endpoint(incoming => {
    if (incoming.body.method === undefined) onUpload(incoming, ++uploads)
    else incoming.answer({ resultType: 'complete', content: [] })
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
  const calls = () => received.filter(({ body }) => body.method === 'tools/call').map(incoming => argumentsOf(incoming))
  return { call, calls, uploads: () => uploads, received }
}

function argumentsOf({ body }: ReceivedRequest): unknown {
  return (body.params as { arguments: unknown }).arguments
}

it('uploads the files that a call names once, and forwards their ids', async () => {
  const { call, calls, uploads, received } = await desk()
  await call('send', { attachments: ['a.json', 'att_0', 'a.json'] })
  await call('call_tool', { name: 'send', arguments: { attachments: ['a.json'] } })
  expect(calls()).toEqual([
    { attachments: ['att_1', 'att_0', 'att_1'] },
    { name: 'send', arguments: { attachments: ['att_1'] } },
  ])
  expect(uploads()).toBe(1)
  expect(received[0]).toMatchObject({
    headers: { authorization: 'Bearer t', 'content-type': 'application/json', 'content-length': '16' },
    body: { rows: [1, 2, 3] },
  })
})

it('leaves paths of other tools and oversized lists unchanged', async () => {
  const { call, calls, uploads } = await desk()
  const many = Array.from({ length: 33 }, (_, i) => `${i}.json`)
  await call('upload', { attachments: ['a.json'] })
  await call('send', { attachments: many })
  expect(calls()).toEqual([{ attachments: ['a.json'] }, { attachments: many }])
  expect(uploads()).toBe(0)
})

it.each([
  ['the connection was lost on the way', (incoming: ReceivedRequest) => incoming.drop()],
  ['it was lost with half of the answer', (incoming: ReceivedRequest) => void half(incoming)],
  [
    'the server is about to stop',
    (incoming: ReceivedRequest) => incoming.json(503, { code: 'STOPPING', detail: 'It stops.' }),
  ],
  ['something in between answers', (incoming: ReceivedRequest) => void incoming.response.writeHead(502).end('<html>')],
])('hands a file in again when %s', async (_what, fail) => {
  const { call, calls } = await desk((incoming, count) =>
    count === 1 ? fail(incoming) : incoming.json(201, { id: 'att_2' }),
  )
  await call('send', { attachments: ['a.json'] })
  expect(calls()).toEqual([{ attachments: ['att_2'] }])
})

function half({ response }: ReceivedRequest): void {
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
    const refuse = (incoming: ReceivedRequest) => incoming.json(429, { code: 'RATE_LIMITED', detail: 'Wait.' })
    const { call, calls, uploads } = await desk((incoming, count) =>
      count === 1 ? incoming.json(201, { id: 'att_1' }) : refuse(incoming),
    )
    const { result } = await call('send', { attachments: ['good.json', path] })
    expect(result).toMatchObject({ isError: true, _meta: { 'quartermaster/error': { code } } })
    expect(calls()).toEqual([])
    // What is wrong with a file is seen before any of them is handed in.
    expect(uploads()).toBe(handedIn)
  },
)
