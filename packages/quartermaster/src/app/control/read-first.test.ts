import { expect, it } from 'vitest'
import { AppError, type Control, type ControlOperation } from '../../contracts/index.ts'
import { type ReadFirstDeps, readFirst } from './control-preload.ts'

const LOCKED = new AppError('STORE_LOCKED', 'The data folder belongs to another process.')
const UNUSABLE = new AppError('CONFIG_INVALID', 'The data folder cannot be written.')
const ON = { onProgress() {} }

/** A control of a command that could not read what is known of its servers, and what became of reading it since. */
function desk(...outcomes: (Error | undefined)[]) {
  const done: string[] = []
  const names: ControlOperation[] = ['tools', 'tool', 'capabilities', 'checkAgent', 'call', 'status', 'doctor']
  const answers = names.map(name => [name, async () => (done.push(name), name)])
  const deps = {
    core: { catalogue: { current: () => ({ tools: new Map([['known', {}]]) }) } },
    async readAgain() {
      done.push('read')
      const outcome = outcomes.shift()
      if (outcome) throw outcome
    },
  }
  const control = Object.fromEntries(answers) as unknown as Control
  return { control: readFirst(control, deps as unknown as ReadFirstDeps), done }
}

const asks: Record<string, (control: Control) => Promise<unknown>> = {
  tools: control => control.tools({}, ON),
  capabilities: control => control.capabilities({}, ON),
  checkAgent: control => control.checkAgent({ name: 'ada' }, ON),
  tool: control => control.tool({ name: 'toy_slow' }),
  call: control => control.call({ agent: 'ada', tool: 'toy_slow' }),
}

it.each(Object.keys(asks))(
  'says that the store is locked, and nothing that is false for want of it: %s',
  async name => {
    const { control, done } = desk(LOCKED)
    await expect(asks[name]?.(control)).rejects.toMatchObject({ code: 'STORE_LOCKED' })
    expect(done).toEqual(['read'])
    expect(await asks[name]?.(control)).toBe(name)
    expect(done).toEqual(['read', 'read', name])
  },
)

it('reads nothing for a tool that is there, nor for who has to be told how things are', async () => {
  const { control, done } = desk(LOCKED)
  await control.tool({ name: 'known' })
  await control.call({ agent: 'ada', tool: 'known' }, ON)
  await control.status({}, ON)
  await control.doctor({}, ON)
  expect(done).toEqual(['tool', 'call', 'status', 'doctor'])
})

it('keeps no shell waiting that completes a word', async () => {
  const { control, done } = desk(LOCKED)
  await control.tools({})
  expect(done).toEqual(['tools'])
})

it('hides no tool for what else is wrong with the store, and says so to who calls one that is not there without it', async () => {
  const { control } = desk(UNUSABLE, UNUSABLE)
  expect(await asks.tools?.(control)).toBe('tools')
  await expect(asks.call?.(control)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})
