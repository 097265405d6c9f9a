import { describe, expect, it } from 'vitest'
import { Refusal } from './refusal.ts'
import { contains, createAddressing } from './requested-path.ts'

const one = createAddressing({
  roots: [{ label: './reports', path: '/data/reports' }],
  projectDir: '/data',
  platform: 'linux',
  words: { look: 'list_files' },
})
const several = createAddressing({
  roots: [
    { label: './reports', path: '/data/reports' },
    { label: '../shared', path: '/shared' },
  ],
  projectDir: '/data',
  platform: 'linux',
  words: { look: 'list_files' },
})
const windows = createAddressing({
  roots: [{ label: '.\\reports', path: 'C:\\data\\reports' }],
  projectDir: 'C:\\data',
  platform: 'win32',
  words: { look: 'list_files' },
})

const paths = (candidates: { path: string }[]) => candidates.map(candidate => candidate.path)

describe('what a requested path can mean', () => {
  it('counts from the only folder, then from the project', () => {
    expect(paths(one.candidates('a.md'))).toEqual(['/data/reports/a.md'])
    expect(paths(one.candidates('reports/a.md'))).toEqual(['/data/reports/reports/a.md', '/data/reports/a.md'])
    expect(paths(one.candidates('/data/reports/x/../a.md'))).toEqual(['/data/reports/a.md'])
  })

  it('begins with the name of a folder where there are several, and may leave it out', () => {
    expect(several.candidates('../shared/a.md')[0]).toMatchObject({ path: '/shared/a.md', display: '../shared/a.md' })
    expect(paths(several.candidates('a.md'))).toEqual(['/data/reports/a.md', '/shared/a.md'])
  })

  it('shows every place under a name that leads back to it', () => {
    for (const requested of ['./reports/a/b.md', '../shared/c.md', '/shared/d.md']) {
      const [candidate] = several.candidates(requested)
      expect(several.candidates(candidate?.display ?? '')[0]).toEqual(candidate)
    }
  })

  it('knows "." as everything only where there are several folders', () => {
    expect([several.isEverything('.'), several.isEverything('./'), one.isEverything('.')]).toEqual([true, true, false])
  })

  it.each([
    ['one step up', '../secret'],
    ['steps up behind a folder', 'a/../../secret'],
    ['an absolute path', '/etc/passwd'],
    ['a neighbour with the same beginning', '/data/reports-secret/a.md'],
    ['a path that only begins inside', '/data/reports/../../etc/passwd'],
  ])('refuses %s', (_what, requested) => {
    expect(() => one.candidates(requested)).toThrow(/is outside of the folders you may use: ".\/reports"/)
  })

  it.each([
    ['encoded dots', '%2e%2e/secret'],
    ['a fullwidth slash', '..／secret'],
    ['backslashes', '..\\..\\secret'],
    ['an address', 'file:///etc/passwd'],
  ])('takes %s for the name that it is, inside', (_what, requested) => {
    for (const { path } of one.candidates(requested)) expect(contains('/data/reports', path, 'linux')).toBe(true)
  })

  it.each([
    ['a NUL', 'a\0.md'],
    ['an escape', '\u001b[2Ja.md'],
    ['half a surrogate pair', 'a\ud800.md'],
    ['the temporary file of a write', 'x/.quartermaster-0123456789abcdef.tmp'],
  ])('refuses %s', (_what, requested) => {
    expect(() => one.candidates(requested)).toThrow(Refusal)
  })

  it.each([
    ['a stream', 'a.md::$DATA'],
    ['a device', 'NUL'],
    ['a device with a space', 'aux .txt'],
    ['a superscript device', 'lpt²'],
    ['a trailing dot', 'secret.'],
    ['a drive without a slash', 'C:secret'],
    ['a share', '\\\\server\\share\\secret'],
    ['a verbatim path', '\\\\?\\C:\\data\\reports\\..\\..\\secret'],
    ['a neighbour with the same beginning', 'C:\\data\\reports-secret\\a.md'],
    ['a rooted path', '\\Windows\\system.ini'],
  ])('refuses %s on Windows', (_what, requested) => {
    expect(() => windows.candidates(requested)).toThrow(Refusal)
  })

  it('takes either slash and either case on Windows', () => {
    expect(windows.candidates('sub/a.md')[0]).toMatchObject({
      path: 'C:\\data\\reports\\sub\\a.md',
      display: 'sub/a.md',
    })
    expect(windows.candidates('c:\\DATA\\reports\\a.md')[0]).toMatchObject({ display: 'a.md' })
  })
})
