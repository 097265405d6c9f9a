import { beforeAll, describe, expect, it } from 'vitest'
import { API, type ApiOperation, type ApiRoute } from '../src/contracts/index.ts'
import { guessesOf, launchTenants, type Tenants, without } from './support/tenants.ts'

const ROUTES = Object.entries(API) as [ApiOperation, ApiRoute][]

/** What a path names, and what a body needs so that no request is refused for its shape. */
const NAMED: Partial<Record<ApiOperation, { params?: Record<string, keyof Tenants['ids']>; body?: object }>> = {
  createOrganisation: { body: { name: 'third' } },
  createWorkspace: { body: { name: 'new' } },
  showWorkspace: { params: { id: 'workspace' } },
  changeWorkspace: { params: { id: 'workspace' }, body: { role: 'changed' } },
  archiveWorkspace: { params: { id: 'workspace' } },
  workspaceCard: { params: { id: 'workspace' } },
  listTokens: { params: { id: 'workspace' } },
  createToken: { params: { id: 'workspace' }, body: {} },
  rotateToken: { params: { id: 'token' }, body: {} },
  revokeToken: { params: { id: 'token' } },
  addExternalPeer: { body: { name: 'new', cardUrl: 'http://127.0.0.1:9/' } },
  showExternalPeer: { params: { id: 'externalPeer' } },
  refreshExternalPeer: { params: { id: 'externalPeer' } },
  removeExternalPeer: { params: { id: 'externalPeer' } },
  createPerson: { body: { name: 'new' } },
  createPersonToken: { params: { name: 'person' }, body: {} },
  removePerson: { params: { name: 'person' } },
  createJoinCode: { body: {} },
  revokeJoinCode: { params: { id: 'joinCode' } },
  register: { body: {} },
  sendMessage: { body: { to: '{workspace}', text: 'hello' } },
  writeToWorkspace: { params: { id: 'workspace' }, body: { text: 'hello' } },
  readChat: { params: { id: 'workspace' } },
  popMessage: { params: { activityId: 'activity' } },
  replyToMessage: { params: { activityId: 'activity' }, body: { text: 'hello' } },
  showAttachment: { params: { id: 'attachment' } },
  attachmentContent: { params: { id: 'attachment' } },
  commitMemory: { body: { content: 'something' } },
  showMemory: { params: { id: 'memory' } },
  changeMemory: { params: { id: 'memory' }, body: { content: 'other' } },
  forgetMemory: { params: { id: 'memory' } },
  createDelegation: { body: { to: '{workspace}', task: 'something' } },
  showDelegation: { params: { id: 'delegation' } },
  replyToDelegation: { params: { id: 'delegation' }, body: { message: 'something' } },
  cancelDelegation: { params: { id: 'delegation' } },
  agentPrompt: { params: { name: 'workspace' } },
}

let at: Tenants
beforeAll(async () => {
  at = await launchTenants()
  return () => at.close()
})

/** The path with what it names filled in, and the body it needs. */
function requestOf(operation: ApiOperation, { path }: ApiRoute, ids: Tenants['ids']) {
  const { params = {}, body } = NAMED[operation] ?? {}
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[params[name] ?? 'workspace'])
  const text = body && JSON.stringify(body).replace('{workspace}', ids.workspace)
  return { path: filled, body: text === undefined ? undefined : (JSON.parse(text) as object) }
}

/** What this one may not see. A twin has some of the names itself. */
function privateTo(kind: string): readonly string[] {
  return kind === 'twin' ? at.private.filter(secret => secret !== 'helper') : at.private
}

const withId = ROUTES.filter(([, { path }]) => path.includes('{') || path === '/messages')
const withBody = ROUTES.filter(([, { body }]) => body)

it('knows what every path names, and a body for whatever needs one', () => {
  const nameless = [...withId, ...withBody].filter(([operation]) => !NAMED[operation] && operation !== 'join')
  expect(nameless.map(([operation]) => operation)).toEqual([])
})

describe.each(['workspace', 'person', 'cousin', 'twin'] as const)('a token of a %s elsewhere', kind => {
  it.each(withId)('gets from %s for what is there what it gets for what is not', async (operation, route) => {
    const { ids, strangers, ask } = at
    const guesses = guessesOf(ids)
    const real = requestOf(operation, route, ids)
    const guessed = requestOf(operation, route, guesses)
    const answers = [
      await ask(route.method, real.path, strangers[kind], real.body),
      await ask(route.method, guessed.path, strangers[kind], guessed.body),
    ]
    const texts = answers.map(({ status, text }, i) => [status, without(text, i === 0 ? ids : guesses)])
    expect(texts[0]).toEqual(texts[1])
    expect([400, 415]).not.toContain(answers[0]?.status)
  })

  it('is shown nothing of it by any list', async () => {
    const { strangers, ask } = at
    for (const [, { method, path, wire }] of ROUTES) {
      if (method !== 'GET' || path.includes('{') || wire !== undefined) continue
      const { text } = await ask(method, path, strangers[kind])
      expect(privateTo(kind).filter(secret => text.includes(secret))).toEqual([])
    }
  })
})

it.each(ROUTES.filter(([, { who }]) => !who.includes('anyone')))(
  'refuses %s without a valid token',
  async (operation, route) => {
    const { ids, revoked, ask } = at
    const { path, body } = requestOf(operation, route, ids)
    for (const token of [undefined, 'nonsense', revoked]) {
      const { status, text } = await ask(route.method, path, token, body)
      expect([status, JSON.parse(text).code]).toEqual([401, 'TOKEN_INVALID'])
    }
  },
)
