import { describe, expect, it } from 'vitest'
import { AppError } from '../../contracts/index.ts'
import { deferred } from '../../testing/deferred.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { createLink, type FindOptions, type Gateway } from './link.ts'

function linked(find: (options: FindOptions, tries: number) => Promise<Partial<Gateway>>) {
  const clock = createFakeClock()
  const seen = { found: 0, extended: 0, givenBack: 0, told: [] as string[], asked: [] as FindOptions[] }
  const link = createLink({
    clock,
    random: () => 0.5,
    command: 'quartermaster up',
    tell: text => void seen.told.push(text),
    async find(options) {
      seen.asked.push(options)
      const gateway = await find(options, ++seen.found)
      return {
        url: `http://127.0.0.1:${seen.found}/mcp`,
        token: 't',
        goodForMs: 90_000,
        extend: async () => void seen.extended++,
        giveBack: async () => void seen.givenBack++,
        ...gateway,
      }
    },
  })
  return { link, clock, seen }
}

const absent = () => new AppError('DEPENDENCY_UNAVAILABLE', 'Nobody is there.')

describe('the link of a bridge', () => {
  it('finds one gateway for concurrent requests', async () => {
    const { link, seen } = linked(async () => ({}))
    const [a, b] = await Promise.all([link.gateway(), link.gateway()])
    expect([a === b, a === (await link.gateway()), seen.found]).toEqual([true, true, 1])
  })

  it('retries for a while, and then reports why it failed', async () => {
    const { link, clock, seen } = linked(() => Promise.reject(absent()))
    const asked = link.gateway().catch((error: AppError) => error.message)
    await clock.advance(20_000)
    expect(await asked).toBe('Quartermaster was not reached within 15 seconds. Start it: quartermaster up')
    expect(seen.found).toBeGreaterThan(10)
    expect([link.failure()?.code, seen.told]).toEqual(['DEPENDENCY_UNAVAILABLE', ['Nobody is there.']])
  })

  it('holds each request for 55 seconds over a restart', async () => {
    const { link, clock } = linked((_, tries) => (tries === 1 ? Promise.resolve({}) : Promise.reject(absent())))
    link.lose(await link.gateway())
    const answers: string[] = []
    const ask = (name: string) => link.gateway().catch((error: AppError) => answers.push(`${name}: ${error.message}`))
    void ask('first')
    await clock.advance(30_000)
    void ask('second')
    await clock.advance(24_999)
    expect(answers).toEqual([])
    await clock.advance(1)
    const message = 'Quartermaster was not reached within 55 seconds. Start it: quartermaster up'
    expect(answers).toEqual([`first: ${message}`])
    await clock.advance(30_000)
    expect(answers).toEqual([`first: ${message}`, `second: ${message}`])
  })

  it('uses a gateway that starts within that time', async () => {
    const { link, clock, seen } = linked((_, tries) => (tries < 5 ? Promise.reject(absent()) : Promise.resolve({})))
    const asked = link.gateway()
    await clock.advance(2_000)
    expect((await asked).url).toBe('http://127.0.0.1:5/mcp')
    expect([seen.told, link.failure()]).toEqual([[], undefined])
  })

  it('does not retry permanent failures', async () => {
    const { link, seen } = linked(() => Promise.reject(new AppError('AGENT_NOT_FOUND', 'No such agent.')))
    await expect(link.gateway()).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' })
    await expect(link.gateway()).rejects.toMatchObject({ code: 'AGENT_NOT_FOUND' })
    expect([seen.found, seen.told]).toEqual([2, ['No such agent.']])
  })

  it('extends its token three times per lifetime', async () => {
    const { link, clock, seen } = linked(async () => ({}))
    await link.gateway()
    for (const _ of [1, 2, 3]) await clock.advance(30_000)
    expect(seen.extended).toBe(3)
    await link.close()
    await clock.advance(90_000)
    expect([seen.extended, seen.givenBack]).toEqual([3, 1])
  })

  it('finds another gateway when its token has expired, and knows since when it has none', async () => {
    const extend = () => Promise.reject(new AppError('NAME_UNKNOWN', 'It has ended.'))
    const { link, clock, seen } = linked(async () => ({ extend }))
    const first = await link.gateway()
    await clock.advance(30_000)
    expect(await link.gateway()).not.toBe(first)
    expect(seen.asked.map(({ lostAt }) => lostAt)).toEqual([undefined, 1_700_000_030_000])
  })

  it('reports a lost gateway once', async () => {
    const { link, seen } = linked(async () => ({}))
    const first = await link.gateway()
    link.lose(first)
    const second = await link.gateway()
    link.lose(first)
    expect([await link.gateway()]).toEqual([second])
    expect(seen.told).toEqual(['The connection is lost; looking for Quartermaster.', 'Connected again.'])
  })

  it('retries extending its token until that expires', async () => {
    let refusals = 3
    const extend = async () => {
      if (refusals-- > 0) throw absent()
    }
    const { link, clock, seen } = linked(async () => ({ extend }))
    const first = await link.gateway()
    await clock.advance(300_000)
    expect([(await link.gateway()) === first, seen.told]).toEqual([true, []])
  })

  it('finds another gateway when its token expired', async () => {
    const { link, clock, seen } = linked(async () => ({ extend: () => Promise.reject(absent()) }))
    const first = await link.gateway()
    await clock.advance(89_999)
    expect(await link.gateway()).toBe(first)
    await clock.advance(1)
    expect(await link.gateway()).not.toBe(first)
    expect(seen.asked[1]?.lostAt).toBe(1_700_000_090_000)
  })

  it('keeps the token of a lost gateway while requests are open there, and then returns it', async () => {
    const events: string[] = []
    const { link, clock } = linked(async (_, tries) => ({
      extend: async () => void events.push(`extend ${tries}`),
      giveBack: async () => void events.push(`give back ${tries}`),
    }))
    const first = await link.gateway()
    const [call, other] = [deferred<string>(), deferred()]
    const answers = [link.during(first, () => call.promise), link.during(first, () => other.promise)]
    link.lose(first)
    await clock.advance(60_000)
    other.resolve()
    await answers[1]
    await clock.advance(60_000)
    expect(events).toEqual(Array(4).fill('extend 1'))
    call.resolve('done')
    expect(await answers[0]).toBe('done')
    await clock.advance(300_000)
    expect(events.slice(4)).toEqual(['give back 1'])
  })

  it('returns the token of a lost gateway at once when nothing is open there', async () => {
    const { link, seen } = linked(async () => ({}))
    link.lose(await link.gateway())
    expect(seen.givenBack).toBe(1)
  })

  it('returns every token at the end', async () => {
    const { link, clock, seen } = linked(async () => ({}))
    const first = await link.gateway()
    void link.during(first, () => new Promise(() => {}))
    link.lose(first)
    await link.gateway()
    await link.close()
    await clock.advance(300_000)
    expect([seen.givenBack, seen.extended]).toEqual([2, 0])
  })
})
