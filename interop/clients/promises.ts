import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import type { RunningProduct } from '../support/running-product.ts'
import type { Connection, Listeners, Skill } from './client.ts'

/** What a promise is kept in: the product, and clients that come in as an agent or with a token. */
export interface World {
  readonly product: RunningProduct
  enter(agent: 'clerk' | 'guest', listeners?: Partial<Listeners>): Promise<Connection>
  enterWith(token: string): Promise<Connection>
}

/** What a client can count on, if it has the skill. */
export interface InteropPromise {
  readonly title: string
  readonly skill?: Skill
  keep(world: World): Promise<void>
}

const CLERK = ['add', 'ask_name', 'copy', 'count_to', 'read_letter', 'refuse', 'rest', 'rests']
const WAIT = { timeout: 300_000 }

export const PROMISES: readonly InteropPromise[] = [
  {
    title: 'lists exactly the tools of its agent',
    async keep({ enter }) {
      const [clerk, guest] = [await enter('clerk'), await enter('guest')]
      expect((await clerk.toolNames()).sort()).toEqual(CLERK)
      expect(await guest.toolNames()).toEqual(['add'])
    },
  },
  {
    title: 'calls a tool and reads what it answers',
    async keep({ enter }) {
      const outcome = await (await enter('clerk')).call('add', { a: 20, b: 22 })
      expect(outcome).toMatchObject({ isError: false, text: expect.stringContaining('42') })
    },
  },
  {
    title: 'gets structured content',
    skill: 'structured',
    async keep({ enter }) {
      const outcome = await (await enter('clerk')).call('add', { a: 20, b: 22 })
      expect(outcome.structured).toEqual({ sum: 42 })
    },
  },
  {
    title: 'reads what a tool says when it fails',
    async keep({ enter }) {
      const outcome = await (await enter('clerk')).call('refuse', {})
      expect(outcome.text).toContain('The desk is closed.')
    },
  },
  {
    title: 'reads why a tool could not be run, also where it promises a structure',
    async keep({ enter }) {
      const outcome = await (await enter('clerk')).call('copy', {})
      expect(outcome.text).toContain('The copier is out of paper.')
    },
  },
  {
    title: 'sees a tool’s own failure as one',
    skill: 'failures',
    async keep({ enter }) {
      const outcome = await (await enter('clerk')).call('refuse', {})
      expect(outcome.isError).toBe(true)
    },
  },
  {
    title: 'hears how far a call has come',
    skill: 'progress',
    async keep({ enter }) {
      const seen: number[] = []
      const clerk = await enter('clerk', { onProgress: ({ progress }) => seen.push(progress) })
      await clerk.call('count_to', { end: 3 })
      expect(seen).toEqual([1, 2, 3])
    },
  },
  {
    title: 'takes a call back, which ends the run',
    skill: 'cancels',
    async keep({ enter }) {
      const controller = new AbortController()
      const clerk = await enter('clerk', { onProgress: () => controller.abort() })
      await expect(clerk.call('rest', {}, controller.signal)).rejects.toThrow()
      await vi.waitUntil(async () => (await clerk.call('rests', {})).text.includes('1'), WAIT)
    },
  },
  {
    title: 'is asked, and its answer reaches the tool',
    skill: 'answers',
    async keep({ enter }) {
      const onQuestion = vi.fn<Listeners['onQuestion']>(() => ({ name: 'Ada' }))
      const outcome = await (await enter('clerk', { onQuestion })).call('ask_name', {})
      expect(outcome.text).toContain('Ada')
      expect(onQuestion.mock.calls).toEqual([['What is your name?']])
    },
  },
  {
    title: 'hears that a tool went and came back, and nobody else does',
    skill: 'changes',
    async keep({ product, enter }) {
      const [clerkHears, guestHears] = [vi.fn<() => void>(), vi.fn<() => void>()]
      const clerk = await enter('clerk', { onToolsChanged: clerkHears })
      const guest = await enter('guest', { onToolsChanged: guestHears })
      const hasLetter = async () => (await clerk.toolNames()).includes('read_letter')
      expect(await hasLetter()).toBe(true)

      await rm(join(product.folder, 'lamp.txt'))
      await vi.waitUntil(() => clerkHears.mock.calls.length > 0, WAIT)
      expect(await hasLetter()).toBe(false)

      clerkHears.mockClear()
      await writeFile(join(product.folder, 'lamp.txt'), 'It is on again.')
      await product.run('recheck', 'dependency:lamp', '--force')
      await vi.waitUntil(() => clerkHears.mock.calls.length > 0, WAIT)
      expect(await hasLetter()).toBe(true)

      // Whatever was on its way to the guest has arrived before this answer.
      await guest.call('add', { a: 1, b: 1 })
      expect(guestHears).not.toHaveBeenCalled()
    },
  },
  {
    title: 'is refused once its token is taken back',
    async keep({ product, enterWith }) {
      const { id, token } = await product.issue('clerk')
      const connection = await enterWith(token)
      expect(await succeeds(connection.call('add', { a: 1, b: 2 }))).toBe(true)
      await product.run('tokens', 'revoke', id)
      expect(await succeeds(connection.call('add', { a: 1, b: 2 }))).toBe(false)
      expect(await succeeds(enterWith(token).then(again => again.toolNames()))).toBe(false)
    },
  },
]

/** Frameworks tell a refusal in their own ways: some throw, some hand the model an error. */
async function succeeds(attempt: Promise<unknown>): Promise<boolean> {
  try {
    const outcome = await attempt
    return !(typeof outcome === 'object' && outcome !== null && 'isError' in outcome && outcome.isError === true)
  } catch {
    return false
  }
}
