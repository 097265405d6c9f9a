import { afterEach, describe, expect, it, vi } from 'vitest'
import { environment, secret } from './index.ts'

const context = (secrets: string[] = []) => ({
  signal: new AbortController().signal,
  hasSecret: (name: string) => secrets.includes(name),
})

afterEach(() => void vi.unstubAllEnvs())

describe('environment', () => {
  it('is up when the variable is set and not empty', () => {
    vi.stubEnv('PROBE_REGION', 'eu')
    vi.stubEnv('PROBE_EMPTY', '')
    expect(environment({ name: 'PROBE_REGION' }).run(context())).toEqual({ up: true })
    expect(environment({ name: 'PROBE_EMPTY' }).run(context())).toEqual({
      up: false,
      reason: 'The environment variable "PROBE_EMPTY" is empty.',
    })
    expect(environment({ name: 'PROBE_MISSING' }).run(context())).toEqual({
      up: false,
      reason: 'The environment variable "PROBE_MISSING" is not set.',
    })
    expect(environment({ name: 'PROBE_REGION' }).describe).toEqual({ kind: 'environment', name: 'PROBE_REGION' })
  })
})

describe('secret', () => {
  it('is up when there is a secret of that name', () => {
    expect(secret({ name: 'API_KEY' }).run(context(['API_KEY']))).toEqual({ up: true })
    expect(secret({ name: 'API_KEY' }).run(context())).toEqual({
      up: false,
      reason: 'There is no secret named "API_KEY".',
    })
    expect(secret({ name: 'API_KEY' }).describe).toEqual({ kind: 'secret', name: 'API_KEY' })
  })
})
