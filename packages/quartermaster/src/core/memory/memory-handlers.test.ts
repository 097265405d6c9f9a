import { expect, it } from 'vitest'
import { createIds, sha256 } from '../../adapters/system/index.ts'
import { type ApiAnswer, type ApiOperation, type ApiRequest, DEFAULT_SETTINGS } from '../../contracts/index.ts'
import { openOrganisation } from '../../testing/organisation-fixture.ts'
import { type ApiCaller, createApiService } from '../organisation/index.ts'
import { createMemory, memoryHandlers } from './index.ts'

/** Two organisations, each with ada and bob below their root. */
async function openFixture() {
  const at = await openOrganisation()
  const memory = createMemory({
    store: at.store,
    clock: at.clock,
    ids: createIds(),
    digest: sha256,
    settings: DEFAULT_SETTINGS,
  })
  const api = createApiService(memoryHandlers({ memory, organisation: at.organisation }))
  await at.ask('createOrganisation', { body: { name: 'acme' } })
  const callers: Record<string, ApiCaller> = {}
  for (const organisation of ['default', 'acme'])
    for (const name of ['ada', 'bob']) {
      await at.ask('createWorkspace', { query: { organisation }, body: { name } }, at.ownerOf(organisation))
      const workspace = await at.organisation.workspaces.pick(organisation, name)
      callers[`${organisation}/${name}`] = { kind: 'workspace', organisation, workspace, tokenId: 't', scopes: [] }
    }
  const ask = <K extends ApiOperation>(
    operation: K,
    caller: ApiCaller | undefined,
    request: { [P in keyof ApiRequest<K>]?: ApiRequest<K>[P] } = {},
  ): Promise<ApiAnswer<K>> => {
    const whole = { params: {}, query: {}, body: undefined, ...request } as unknown as ApiRequest<K>
    return api.answer(operation, caller, whole, { origin: 'http://here' })
  }
  const as = (name: string) => callers[name] as Extract<ApiCaller, { kind: 'workspace' }>
  return { ...at, ask, as, memory }
}

it('answers another organisation, a stranger and a guessed id exactly as if nothing were there', async () => {
  const { ask, as, ownerOf } = await openFixture()
  const { memory } = await ask('commitMemory', as('default/ada'), { body: { content: 'the plan', scope: 'TEAM' } })
  const local = (await ask('commitMemory', as('default/ada'), { body: { content: 'my own plan' } })).memory
  const { id } = memory
  const strangers = [
    [as('acme/ada'), id],
    [as('default/bob'), local.id],
    [as('acme/ada'), 'mem_guessed'],
  ] as const
  for (const [caller, one] of strangers) {
    const unknown = { code: 'NAME_UNKNOWN', message: expect.stringContaining(`There is no memory "${one}"`) }
    await expect(ask('showMemory', caller, { params: { id: one } })).rejects.toMatchObject(unknown)
    await expect(ask('changeMemory', caller, { params: { id: one }, body: { content: 'x' } })).rejects.toMatchObject(
      unknown,
    )
    expect(await ask('forgetMemory', caller, { params: { id: one } })).toEqual({ id: one, forgotten: false })
  }
  for (const query of ['', 'plan'])
    expect(await ask('listMemories', as('acme/ada'), { query: { query } })).toEqual({ memories: [], nextCursor: null })
  await expect(ask('showMemory', ownerOf('acme'), { params: { id } })).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
  expect(await ask('forgetMemory', ownerOf('acme'), { params: { id } })).toEqual({ id, forgotten: false })
  await expect(ask('listMemories', undefined)).rejects.toMatchObject({ code: 'TOKEN_INVALID' })
  expect(await ask('showMemory', as('default/bob'), { params: { id } })).toMatchObject({ content: 'the plan' })
})

it('shows persons and the owner what a workspace reads, and lets the owner forget', async () => {
  const { ask, as, ownerOf } = await openFixture()
  const owner = ownerOf('default')
  const person: ApiCaller = { kind: 'person', organisation: 'default', name: 'zoe', tokenId: 't' }
  const { memory } = await ask('commitMemory', as('default/ada'), { body: { content: 'my plan' } })
  const { id } = memory
  for (const caller of [owner, person]) {
    expect(await ask('listMemories', caller, { query: { workspaceId: 'ada' } })).toMatchObject({ memories: [{ id }] })
    expect(await ask('listMemories', caller, { query: { workspaceId: 'bob' } })).toMatchObject({ memories: [] })
    await expect(ask('listMemories', caller)).rejects.toMatchObject({ code: 'INPUT_INVALID' })
  }
  const refused = { code: 'REQUEST_REFUSED' }
  await expect(ask('commitMemory', owner as never, { body: { content: 'x' } })).rejects.toMatchObject(refused)
  await expect(ask('forgetMemory', person as never, { params: { id } })).rejects.toMatchObject(refused)
  expect(await ask('forgetMemory', owner, { params: { id } })).toEqual({ id, forgotten: true })
})

it('lets a workspace name itself as the one that reads, and no other', async () => {
  const { ask, as } = await openFixture()
  const ada = as('default/ada')
  const { memory } = await ask('commitMemory', ada, { body: { content: 'my plan' } })
  for (const workspaceId of ['ada', ada.workspace.id])
    expect(await ask('listMemories', ada, { query: { workspaceId } })).toMatchObject({ memories: [{ id: memory.id }] })
  for (const workspaceId of ['bob', 'root', 'unknown', as('acme/ada').workspace.id])
    await expect(ask('listMemories', ada, { query: { workspaceId } })).rejects.toMatchObject({
      code: 'NAME_UNKNOWN',
      message: 'A workspace reads as itself. Leave workspaceId out.',
    })
})

it('takes a token that is limited only when it is for memory', async () => {
  const { ask, as } = await openFixture()
  const limited = (scopes: string[]): ApiCaller => ({ ...as('default/ada'), scopes })
  await expect(ask('listMemories', limited(['presence']))).rejects.toMatchObject({ code: 'REQUEST_REFUSED' })
  expect(await ask('listMemories', limited(['memory']))).toMatchObject({ memories: [] })
})

it('lets an author change its own, workspaces with the ability change GLOBAL, and the leader of a team forget', async () => {
  const { ask, as, organisation } = await openFixture()
  const workspace = await organisation.workspaces.pick('default', 'root')
  const root: ApiCaller = { kind: 'workspace', organisation: 'default', workspace, tokenId: 't', scopes: [] }
  const team = (await ask('commitMemory', as('default/ada'), { body: { content: 'a', scope: 'TEAM' } })).memory
  const params = { id: team.id }
  const refused = { code: 'REQUEST_REFUSED', message: expect.stringContaining('"ada"') }
  await expect(ask('changeMemory', as('default/bob'), { params, body: { content: 'b' } })).rejects.toMatchObject(
    refused,
  )
  await expect(ask('forgetMemory', as('default/bob'), { params })).rejects.toMatchObject(refused)
  await expect(
    ask('changeMemory', as('default/ada'), { params, body: { content: 'b', scope: 'GLOBAL' } }),
  ).rejects.toMatchObject({ code: 'REQUEST_REFUSED' })
  expect(await ask('forgetMemory', root, { params })).toMatchObject({ forgotten: true })
  const global = (await ask('commitMemory', root, { body: { content: 'g', scope: 'GLOBAL' } })).memory
  const own = { params: { id: global.id } }
  await expect(ask('forgetMemory', as('default/ada'), own)).rejects.toMatchObject({ code: 'REQUEST_REFUSED' })
  expect(await ask('changeMemory', root, { ...own, body: { content: 'h' } })).toMatchObject({ memory: { version: 2 } })
})

it('keeps the scope of a GLOBAL memory that another workspace changes', async () => {
  const { ask, as, organisation } = await openFixture()
  const workspace = await organisation.workspaces.pick('default', 'root')
  const root: ApiCaller = { kind: 'workspace', organisation: 'default', workspace, tokenId: 't', scopes: [] }
  const bob = as('default/bob')
  const able: ApiCaller = { ...bob, workspace: { ...bob.workspace, abilities: ['memory.global'] } }
  const { memory } = await ask('commitMemory', root, { body: { content: 'g', scope: 'GLOBAL' } })
  const params = { id: memory.id }
  for (const scope of ['LOCAL', 'TEAM'] as const)
    await expect(ask('changeMemory', able, { params, body: { content: 'mine', scope } })).rejects.toMatchObject({
      code: 'REQUEST_REFUSED',
      message: expect.stringContaining('"root"'),
    })
  expect(await ask('changeMemory', able, { params, body: { content: 'h', scope: 'GLOBAL' } })).toMatchObject({
    memory: { content: 'h', provenance: { workspaceName: 'root', updatedBy: 'bob' } },
  })
  expect(await ask('changeMemory', root, { params, body: { content: 'h', scope: 'LOCAL' } })).toMatchObject({
    memory: { scope: 'LOCAL' },
  })
  await expect(ask('showMemory', able, { params })).rejects.toMatchObject({ code: 'NAME_UNKNOWN' })
})
