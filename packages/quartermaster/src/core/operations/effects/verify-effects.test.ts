import { describe, expect, it } from 'vitest'
import { type EffectSpec, type KeptEffect, messageOf, type Observation } from '../../../contracts/index.ts'
import { createFakeClock } from '../../../testing/fake-clock.ts'
import { concreteEffects, type EffectKind, missingOf, takeBaseline, verifyEffects } from '../index.ts'

const ABSENT: Observation = { seen: 'absent' }
const UNCLEAR: Observation = { seen: 'unclear', reason: 'The disk is away.' }
const there = (mark?: string, count?: number): Observation => ({ seen: 'there', mark, count })

/** A kind that sees what a test says, by the effect's name. */
function kindThatSees(
  observations: Record<string, Observation | (() => Promise<Observation>)>,
  witness: EffectKind['witness'] = 'presence',
): EffectKind {
  return {
    kind: 'seen',
    witness,
    fields: [],
    check: () => [],
    concrete: ({ name }, { operationId }) => ({ name, kind: 'seen', fields: { operationId } }),
    async look({ name }) {
      const seen = observations[name] ?? ABSENT
      return typeof seen === 'function' ? seen() : seen
    },
  }
}

const kindsWith = (kind: EffectKind) => new Map([[kind.kind, kind]])
const kept = (name: string, baseline: Observation, kind = 'seen'): KeptEffect => ({
  name,
  kind,
  fields: {},
  baseline,
})
const clock = createFakeClock()

async function judge(witness: EffectKind['witness'], before: Observation, now: Observation) {
  const kinds = kindsWith(kindThatSees({ one: now }, witness))
  const { effects } = await verifyEffects([kept('one', before)], kinds, { clock })
  return effects[0]
}

describe('an effect that something there proves', () => {
  it.each([
    ['nothing before, nothing now', ABSENT, ABSENT, 'absent'],
    ['nothing before, there now', ABSENT, there('a'), 'verified'],
    ['nothing before, there now without a mark', ABSENT, there(), 'verified'],
    ['nothing before, unclear now', ABSENT, UNCLEAR, 'indeterminate'],
    ['there before, gone now', there('a'), ABSENT, 'absent'],
    ['the same before and now', there('a'), there('a'), 'absent'],
    ['there before and now, neither with a mark', there(), there(), 'absent'],
    ['another before', there('a'), there('b'), 'verified'],
    ['one more than before', there('1', 1), there('2', 2), 'verified'],
    ['as many as before, and others', there('a', 1), there('b', 1), 'verified'],
    ['fewer than before', there('2', 2), there('1', 1), 'absent'],
    ['a mark before and none now', there('a'), there(), 'indeterminate'],
    ['there before, unclear now', there('a'), UNCLEAR, 'indeterminate'],
    ['unclear before, there now', UNCLEAR, there('a'), 'indeterminate'],
    ['unclear before, nothing now', UNCLEAR, ABSENT, 'absent'],
    ['unclear before and now', UNCLEAR, UNCLEAR, 'indeterminate'],
  ] as const)('%s', async (_what, before, now, state) => {
    const finding = await judge('presence', before, now)
    expect(finding).toMatchObject({
      name: 'one',
      state,
      seen: now.seen,
      reason: expect.stringMatching(/\.$/) as string,
    })
  })
})

describe('an effect that something gone proves', () => {
  it.each([
    ['there before, gone now', there(), ABSENT, 'verified'],
    ['there before and now', there(), there(), 'absent'],
    ['there before, unclear now', there(), UNCLEAR, 'indeterminate'],
    ['gone before and now', ABSENT, ABSENT, 'indeterminate'],
    ['gone before, there now', ABSENT, there(), 'absent'],
    ['gone before, unclear now', ABSENT, UNCLEAR, 'indeterminate'],
    ['unclear before, gone now', UNCLEAR, ABSENT, 'indeterminate'],
    ['unclear before, there now', UNCLEAR, there(), 'absent'],
    ['unclear before and now', UNCLEAR, UNCLEAR, 'indeterminate'],
  ] as const)('%s', async (_what, before, now, state) => {
    expect(await judge('absence', before, now)).toMatchObject({ state })
  })
})

describe('a verdict', () => {
  const SEEN: Record<string, Observation> = { v: there('a'), a: ABSENT, i: UNCLEAR }
  const verdictOf = async (states: string) => {
    const names = [...states].map((state, at) => `${state}${at}`)
    const kinds = kindsWith(kindThatSees(Object.fromEntries(names.map(name => [name, SEEN[name.charAt(0)] ?? ABSENT]))))
    const verdict = await verifyEffects(
      names.map(name => kept(name, ABSENT)),
      kinds,
      { clock },
    )
    const specs: EffectSpec[] = names.map(name => ({ name, kind: 'seen' }))
    return { ...verdict, missing: missingOf(verdict, specs).map(({ name }) => name) }
  }

  it.each([
    ['', 'indeterminate', []],
    ['v', 'verified', []],
    ['a', 'absent', ['a0']],
    ['i', 'indeterminate', ['i0']],
    ['vv', 'verified', []],
    ['va', 'partial', ['a1']],
    ['av', 'partial', ['a0']],
    ['vi', 'indeterminate', ['i1']],
    ['aa', 'absent', ['a0', 'a1']],
    ['ai', 'indeterminate', ['a0', 'i1']],
    ['ii', 'indeterminate', ['i0', 'i1']],
    ['vai', 'indeterminate', ['a1', 'i2']],
    ['vaa', 'partial', ['a1', 'a2']],
  ])('over "%s" is %s', async (states, verdict, missing) => {
    expect(await verdictOf(states)).toMatchObject({ verdict, missing })
  })
})

describe('looking', () => {
  const never = () => new Promise<Observation>(() => {})

  it('takes a baseline that is plain JSON and serves later', async () => {
    const seen: Record<string, Observation> = { one: there('1', 1) }
    const kinds = kindsWith(kindThatSees(seen))
    const effects = concreteEffects(
      [{ name: 'one', kind: 'seen' }],
      { input: {}, config: {}, operationId: 'op_1' },
      kinds,
    )
    const rows = JSON.parse(JSON.stringify(await takeBaseline(effects, kinds, { clock }))) as Record<string, unknown>[]
    expect(rows).toEqual([
      { name: 'one', kind: 'seen', fields: { operationId: 'op_1' }, baseline: { seen: 'there', mark: '1', count: 1 } },
    ])
    seen.one = there('2', 2)
    expect(await verifyEffects(rows, kinds, { clock })).toMatchObject({ verdict: 'verified' })
  })

  it('that throws, answers nonsense or has no kind is indeterminate, with the reason', async () => {
    const kinds = kindsWith(
      kindThatSees({
        thrown: () => Promise.reject(new Error('no such host')),
        odd: async () => ({ seen: 'perhaps' }) as never,
        nothing: async () => undefined as never,
      }),
    )
    const rows = [kept('thrown', ABSENT), kept('odd', ABSENT), kept('nothing', ABSENT), kept('gone', ABSENT, 'moon')]
    const { verdict, effects } = await verifyEffects([...rows, { name: 'spoiled' }], kinds, { clock })
    expect(verdict).toBe('indeterminate')
    expect(effects.map(({ state }) => state)).toEqual(Array(5).fill('indeterminate'))
    expect(effects.map(({ reason }) => reason)).toEqual([
      'Looking failed: no such host',
      '"seen" did not say whether it is there.',
      expect.stringContaining('Looking failed'),
      expect.stringContaining('"moon", which nothing here can verify'),
      'Its record cannot be read.',
    ])
  })

  it('times out after five seconds, for all effects at once, and aborts the observations', async () => {
    const clock = createFakeClock()
    const signals: AbortSignal[] = []
    const slow: EffectKind = {
      ...kindThatSees({}),
      look: (_effect, { signal }) => {
        signals.push(signal)
        return never()
      },
    }
    const rows = ['one', 'two', 'three'].map(name => kept(name, ABSENT))
    const verifying = verifyEffects(rows, kindsWith(slow), { clock })
    await clock.advance(4_999)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false])
    await clock.advance(1)
    const { effects } = await verifying
    expect(effects.map(({ reason }) => reason)).toEqual(Array(3).fill('Looking took longer than 5 seconds.'))
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true])
  })

  it('ends when it is cancelled', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const kinds = kindsWith(kindThatSees({ one: never }))
    const verifying = verifyEffects([kept('one', ABSENT)], kinds, { clock, signal })
    controller.abort()
    expect(await verifying).toMatchObject({
      verdict: 'indeterminate',
      effects: [{ reason: 'Looking was broken off.' }],
    })
    expect(await verifyEffects([kept('one', ABSENT)], kinds, { clock, signal })).toMatchObject({
      verdict: 'indeterminate',
    })
  })

  it('is refused before a run where the kind is unknown', () => {
    const values = { input: {}, config: {}, operationId: 'op_1' }
    const attempt = () => concreteEffects([{ name: 'one', kind: 'moon' }], values, new Map())
    expect(attempt).toThrow(expect.objectContaining({ code: 'DEFINITION_INVALID' }))
    expect(messageOf(thrownBy(attempt))).toContain('"moon"')
  })
})

function thrownBy(task: () => unknown): unknown {
  try {
    task()
  } catch (error) {
    return error
  }
  return undefined
}
