import { describe, expect, it, onTestFinished } from 'vitest'
import { openSqliteStore } from '../../adapters/storage-sqlite/index.ts'
import { createIds, sha256, silentLog } from '../../adapters/system/index.ts'
import { AppError } from '../../contracts/index.ts'
import type { AgentSession } from '../../core/agents/index.ts'
import { createTokens } from '../../core/organisation/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { tempProject } from '../../testing/temp-project.ts'
import { createUpControl } from './up-only.ts'

interface UpOptions {
  readonly ready?: Promise<void>
  readonly leave?: () => void
}

async function upControl({ ready = Promise.resolve(), leave }: UpOptions = {}) {
  const { dir } = await tempProject()
  const store = await openSqliteStore({ dir, log: silentLog })
  onTestFinished(() => store.close())
  const clock = createFakeClock()
  const tokens = createTokens({ store, clock, ids: createIds(), digest: sha256 })
  const entry = (name: string) => {
    if (name !== 'worker') throw new AppError('AGENT_NOT_FOUND', `There is no agent "${name}".`)
    return { name, file: '', hash: '', problems: [] }
  }
  const isAgent = ({ workspace }: { workspace: string }) => workspace === 'worker'
  const findSession = (place: { workspace: string }) => (isAgent(place) ? ({} as AgentSession) : undefined)
  const control = createUpControl({
    tokens,
    agents: { entry, isAgent, findSession },
    ready,
    leave,
    isStopping: () => false,
  })
  return { control, tokens, clock }
}

describe('what an up does for bridges', () => {
  it('lends tokens for 90 seconds, and extends them', async () => {
    const { control, tokens, clock } = await upControl()
    const { id, token, expiresAt } = await control.lendToken({ agent: 'worker' })
    expect(expiresAt - clock.now()).toBe(90_000)
    await clock.advance(60_000)
    expect((await control.extendToken({ id })).expiresAt - clock.now()).toBe(90_000)
    await clock.advance(60_000)
    expect(tokens.verify(token)).toEqual({ tokenId: id, organisation: 'default', agent: 'worker' })
  })

  it('lends nothing to an agent that does not exist, and says so only when it can know', async () => {
    const ready = deferred()
    const { control } = await upControl({ ready: ready.promise })
    let isRefused = false
    const refused = control.lendToken({ agent: 'none' }).catch((error: AppError) => {
      isRefused = true
      return error.code
    })
    await Promise.resolve()
    expect(isRefused).toBe(false)
    ready.resolve()
    expect(await refused).toBe('AGENT_NOT_FOUND')
  })

  it('steps aside only when it runs in the background', async () => {
    const left = deferred()
    expect(await (await upControl({ leave: left.resolve })).control.stepAside({})).toEqual({ leaving: true })
    await left.promise
    expect(await (await upControl()).control.stepAside({})).toEqual({ leaving: false })
  })
})
