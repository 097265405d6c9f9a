import { describe, expect, it } from 'vitest'
import type { CommandDecision, JsonSchema } from '../../contracts/index.ts'
import { commandUsage, OWN_OPTIONS } from './index.ts'

const TEXT = { type: 'string' }
const ID = { type: 'string', maxLength: 128 }

function usage(inputSchema: JsonSchema, command: CommandDecision = { name: 'go' }) {
  const found = commandUsage({ name: 'go_there', short: 'Goes there.', command, inputSchema })
  if (!found) throw new Error('It has no command.')
  return found
}

const words = (properties: JsonSchema, required: string[] = [], command?: CommandDecision) =>
  usage({ type: 'object', properties, required }, command).words

describe('a tool as a command', () => {
  it('has required texts, numbers and choices at their places, in the order of the schema, and the rest as options', () => {
    const properties = { limit: { type: 'integer' }, workspace_id: ID, count: { type: 'number' }, task: TEXT }
    expect(words(properties, ['task', 'workspace_id', 'count'])).toBe('go <WORKSPACE_ID> <COUNT> <TASK...> [--limit N]')
  })

  it('gives the words that are left to the last text, unless it is an id, a path, a choice or has a format', () => {
    for (const name of ['path', 'file_path', 'filePath', 'repo_id', 'url', 'name'])
      expect(words({ [name]: TEXT }, [name])).not.toContain('...')
    expect(words({ task: TEXT }, ['task'])).toBe('go <TASK...>')
    expect(words({ task_id: ID }, ['task_id'])).toBe('go <TASK_ID>')
    expect(words({ day: { type: 'string', format: 'date' } }, ['day'])).toBe('go <DAY>')
    expect(words({ mode: { enum: ['fast', 'safe'] } }, ['mode'])).toBe('go <fast|safe>')
    expect(words({ task: TEXT, task_id: ID }, ['task', 'task_id'])).toBe('go <TASK> <TASK_ID>')
  })

  it.each([
    [{ dryRun: { type: 'boolean' } }, 'go [--dry-run]'],
    [{ follow: { type: 'boolean', default: true } }, 'go [--no-follow]'],
    [{ mode: { type: 'string', enum: ['fast', 'safe', ''] } }, 'go [--mode fast|safe]'],
    [{ mode: { type: 'string', enum: ['with blanks', 'b'] } }, 'go [--mode MODE]'],
    [{ tags: { type: 'array', items: TEXT } }, 'go [--tags TAGS]...'],
    [{ ports: { type: 'array', items: { type: 'integer' } } }, 'go [--ports N]...'],
    [{ to: { anyOf: [TEXT, { type: 'array', items: TEXT }] } }, 'go [--to TO]...'],
    [{ filter: { type: 'object' } }, 'go [--filter JSON]'],
    [{ anything: {} }, 'go [--anything JSON]'],
    [{ due: { anyOf: [TEXT, { type: 'null' }] } }, 'go [--due DUE]'],
    [{ ünï: TEXT, 日本: { type: 'integer' }, größeMax: TEXT }, 'go [--ünï ÜNÏ] [--日本 N] [--größe-max GRÖSSE_MAX]'],
    [{ HTTPServer: TEXT, before_ts: TEXT }, 'go [--http-server HTTP_SERVER] [--before-ts BEFORE_TS]'],
  ] as [JsonSchema, string][])('writes %j as %s', (properties, expected) => {
    expect(words(properties)).toBe(expected)
  })

  it('asks for a required list, object or yes and no by their names', () => {
    const properties = { tags: { type: 'array', items: TEXT }, where: { type: 'object' }, sure: { type: 'boolean' } }
    expect(words(properties, ['tags', 'where', 'sure'])).toBe('go (--tags TAGS)... --where JSON (--sure|--no-sure)')
  })

  it('has the arguments that the tool names, also such as may be left out', () => {
    const command = { name: 'recall', arguments: ['query'] }
    expect(words({ scope: TEXT, query: TEXT }, [], command)).toBe('recall [QUERY...] [--scope SCOPE]')
    expect(words({ id: ID, query: TEXT }, ['id'], { name: 'x', arguments: [] })).toBe('x --id ID [--query QUERY]')
  })

  it('says the flag that tells it from the other tools of its word', () => {
    expect(words({ task: TEXT }, ['task'], { name: 'delegate', flag: 'async' })).toBe('delegate --async <TASK...>')
  })

  it('puts arg- before a name that is taken, by its own options, by its flag or by another parameter', () => {
    for (const name of OWN_OPTIONS)
      expect(words({ [name]: TEXT })).toMatch(new RegExp(`^go \\[--arg-${name} [A-Z_]+\\]$`))
    expect(words({ async: { type: 'boolean' } }, [], { name: 'go', flag: 'async' })).toBe('go --async [--arg-async]')
    expect(words({ a_b: TEXT, aB: TEXT })).toBe('go [--a-b A_B] [--arg-a-b A_B]')
    expect(words({ no_cache: { type: 'boolean' } })).toBe('go [--arg-no-cache]')
    expect(words({ 'ü!': TEXT, '…': TEXT })).toBe('go [--ü Ü] [--arg-2 ARG_2]')
  })

  it('tells what each is in the words of the schema, with the default unless they say it', () => {
    const limit = { type: 'integer', default: 20, description: 'The most notes.' }
    const path = { type: 'string', default: '.', description: 'Where to look; "." is the default.' }
    const { options } = usage({ properties: { limit, path, quiet: { type: 'boolean', default: false } } })
    expect(options.map(option => option.help)).toEqual(['The most notes. (default: 20)', path.description, ''])
  })

  it('follows references and alternatives, and asks for nothing that only one of them wants', () => {
    const schema = {
      $defs: { Id: { ...ID, description: 'Which.' } },
      properties: { name: { $ref: '#/$defs/Id' } },
      required: ['name'],
      anyOf: [{ properties: { one: TEXT }, required: ['one'] }, { properties: { two: TEXT } }],
    }
    expect(usage(schema)).toMatchObject({
      words: 'go <NAME> [--one ONE] [--two TWO]',
      positional: [{ key: 'name', help: 'Which.' }],
    })
  })

  it('takes whatever a schema says without failing', () => {
    for (const schema of [{}, { properties: 5 }, { properties: { a: true, b: null } }, { required: 'a', allOf: [3] }])
      expect(usage(schema as JsonSchema).name).toBe('go')
  })

  it('is none where the tool says so', () => {
    const tool = { name: 'x', short: 'X.', inputSchema: {} }
    expect(commandUsage({ ...tool, command: { none: 'It makes no sense there.' } })).toBeUndefined()
  })
})
