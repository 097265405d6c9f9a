import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { isAppError } from '../../contracts/index.ts'
import { insert } from '../../core/store/index.ts'
import { collectedLog } from '../../testing/collected-log.ts'
import { hasPostgresBinaries, type PostgresServer, startPostgres } from '../../testing/postgres/postgres-server.ts'
import { ask, inSchema } from '../../testing/postgres/test-database.ts'
import { auditLine } from '../../testing/store-contract/stage.ts'
import { migrationsFor } from '../storage-sql/index.ts'
import { silentLog } from '../system/index.ts'
import { inspectPostgres, openPostgresStore, type PostgresStore } from './index.ts'

const append = (store: PostgresStore, id: string) => store.commit([insert('audit', auditLine(id))])

describe.runIf(hasPostgresBinaries())('a server of its own', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.stop())

  const schemaOf = async (name: string) => {
    await ask(server.url, `create schema ${name}`)
    return inSchema(server.url, name)
  }
  const open = async (url: string, log = silentLog, patienceMs = 15_000) => {
    const store = await openPostgresStore({ url, log, patienceMs })
    onTestFinished(() => store.close())
    return store
  }

  it.each(['crash', 'shutDown'] as const)(
    'that ends (%s) under load loses nothing that was answered, and is used again',
    async how => {
      const store = await open(await schemaOf(`load_${how.toLowerCase()}`))
      const answered: string[] = []
      const errors = new Set<string>()
      const over = new AbortController()
      let onAnswer = () => {}
      const caller = async (name: string) => {
        for (let i = 0; !over.signal.aborted; i++) {
          try {
            await append(store, `${name}.${i}`)
            answered.push(`${name}.${i}`)
            onAnswer()
          } catch (error) {
            errors.add(isAppError(error) ? error.code : String(error))
          }
        }
      }
      const until = (count: number) =>
        new Promise<void>(resolve => {
          onAnswer = () => answered.length >= count && resolve()
        })
      const callers = Array.from({ length: 8 }, (_, i) => caller(`c${i}`))
      await until(100)
      await server[how]()
      await server.start()
      await until(answered.length + 100)
      over.abort()
      await Promise.all(callers)
      // What waited for the server was done by the next; only what the old one had in its hands is in doubt.
      expect([...errors].filter(code => code !== 'OUTCOME_UNKNOWN')).toEqual([])
      expect(await missing(store, answered)).toEqual([])
    },
  )

  it('that is away is waited for only a moment by a process that ends, however much it still asks for', async () => {
    const store = await open(await schemaOf('hurried'), silentLog, 3_600_000)
    await append(store, 'a')
    await server.shutDown()
    const waiting = append(store, 'b').catch((error: unknown) => error)
    store.hurry()
    expect(await waiting).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    const works = [() => append(store, 'c'), () => store.count('audit'), () => store.time()]
    for (const work of works) await expect(work()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await server.start()
    expect(await append(store, 'd')).toMatchObject({ committed: true })
  })

  it('that is away has commits and reads wait, and then told that nothing was done', async () => {
    const { log, lines } = collectedLog()
    const store = await open(await schemaOf('away'), log, 300)
    await append(store, 'a')
    await server.shutDown()
    expect(await store.answers()).toBe(false)
    for (const work of [() => append(store, 'b'), () => store.count('audit')])
      await expect(work()).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/nothing listens/),
      })
    await server.start()
    expect(await append(store, 'c')).toMatchObject({ committed: true })
    expect(await store.count('audit')).toBe(2)
    expect(lines.filter(line => line.includes('does not answer'))).toHaveLength(1)
    expect(lines.filter(line => line.includes('answers again'))).toHaveLength(1)
  })

  it('is looked at without being changed', async () => {
    const url = await schemaOf('looked')
    const looked = {
      version: expect.stringMatching(/^\d+\.\d+$/),
      isSynced: true,
      newest: migrationsFor('postgres').length,
    }
    expect(await inspectPostgres({ url, log: silentLog })).toMatchObject({ ...looked, shape: 0 })
    expect(await (await open(url)).answers()).toBe(true)
    expect(await inspectPostgres({ url, log: silentLog })).toMatchObject({ ...looked, shape: looked.newest })
  })

  it('that is only starting is waited for', async () => {
    const url = await schemaOf('waited')
    await server.shutDown()
    const opening = open(url)
    await server.start()
    expect(await (await opening).count('audit')).toBe(0)
  })

  it('closes while it is away, and answers whoever waits', async () => {
    const store = await open(await schemaOf('closed'), silentLog, 300)
    await server.shutDown()
    const commit = append(store, 'a')
    const [closed] = await Promise.allSettled([store.close(), commit])
    expect(closed.status).toBe('fulfilled')
    await expect(commit).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await server.start()
  })

  it.each([
    [
      'a wrong password',
      { username: 'guarded', password: 'hunter2' },
      'CONFIG_INVALID',
      /user or its password is wrong/,
    ],
    ['an unknown user', { username: 'nobody', password: 'hunter2' }, 'CONFIG_INVALID', /"nobody"/],
    ['an unknown database', { pathname: '/nowhere', password: 'hunter2' }, 'CONFIG_INVALID', /no such database/],
    ['no server', { port: '1', password: 'hunter2' }, 'STORE_UNAVAILABLE', /nothing listens there/],
    ['no such host', { hostname: 'nowhere.invalid', password: 'hunter2' }, 'STORE_UNAVAILABLE', /host/],
  ])('%s is told, without the password', async (_what, change, code, message) => {
    await ask(server.url, `drop role if exists guarded; create role guarded login password 'right'`)
    const url = Object.assign(new URL(server.url), change).href
    const { log, lines } = collectedLog()
    const ways = [() => openPostgresStore({ url, log, patienceMs: 1 }), () => inspectPostgres({ url, log })]
    for (const way of ways) {
      const error = await way().then(
        () => undefined,
        (reason: unknown) => reason,
      )
      expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
      expect(JSON.stringify([error, String(error), lines])).not.toContain('hunter2')
    }
  })

  it.each([
    ['-csynchronous_commit=off', /synchronous_commit is off.*set it to on/],
    ['-csearch_path=nowhere', /no schema of its search_path exists/],
  ])('that is set up like %s is refused, with what to do', async (options, message) => {
    const url = new URL(server.url)
    url.searchParams.set('options', options)
    const refused = { code: 'CONFIG_INVALID', message: expect.stringMatching(message) }
    await expect(openPostgresStore({ url: url.href, log: silentLog })).rejects.toMatchObject(refused)
  })
})

it.each([
  'mysql://ada:hunter2@db/q',
  'db.example',
  'postgresql://ada:hunter2@db:port/q',
  'postgresql://ada:hunter2@[/q',
])('an address that is none is told with how one looks, and without the password (%s)', async url => {
  const error = await openPostgresStore({ url, log: silentLog }).catch((reason: unknown) => reason)
  expect(error).toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('postgresql://USER:PASSWORD@HOST'),
  })
  expect(JSON.stringify([error, String(error), (error as Error).cause ?? null])).not.toContain('hunter2')
})

async function missing(store: PostgresStore, ids: readonly string[]): Promise<readonly string[]> {
  const there = new Set<string>()
  for (let after = ''; ; ) {
    const page = await store.find('audit', { order: { by: ['id'] }, after: [after], columns: ['id'], limit: 1_000 })
    for (const { id } of page) there.add(id)
    after = page.at(-1)?.id ?? ''
    if (page.length < 1_000) return ids.filter(id => !there.has(id))
  }
}
