import { describe, expect, it } from 'vitest'
import { parseUriTemplate } from './check-mcp.ts'

describe('a template', () => {
  it.each([
    ['docs://{page}', 'docs://two%20words%2Fone', { page: 'two words/one' }],
    ['docs://{book}/{page}.md', 'docs://guide/v1.2.md', { book: 'guide', page: 'v1.2' }],
    ['log:{year}-{rest}', 'log:2026-07-28', { year: '2026', rest: '07-28' }],
    ['a:{x}.txt', 'a:b.txt.txt', { x: 'b.txt' }],
  ])('%s fits %s', (template, uri, values) => {
    expect(parseUriTemplate(template).match(uri)).toEqual(values)
  })

  it.each([
    ['docs://{page}', 'docs://'],
    ['docs://{page}', 'docs://a/b'],
    ['docs://{page}', 'docs://%zz'],
    ['docs://{page}.md', 'docs://a.txt'],
    ['docs://{page}.md', 'docs://.md'],
    ['log:{year}-{month}', 'log:-07'],
  ])('%s does not fit %s', (template, uri) => {
    expect(parseUriTemplate(template).match(uri)).toBeUndefined()
  })

  it.each([
    ['docs://{page}{?lang,version}', 'docs://intro?version=2', { page: 'intro', version: '2' }],
    ['repo://{owner}/{repo}/contents{/path*}', 'repo://a/b/contents/x/y.md', { owner: 'a', repo: 'b', path: 'x/y.md' }],
    ['file://{+path}', 'file:///etc/a%20b?c#d', { path: '/etc/a b?c#d' }],
    ['a:{x,y}', 'a:1,2', { x: '1', y: '2' }],
    ['a:{x}{#part}', 'a:1#two', { x: '1', part: 'two' }],
    ['a:{x}{.type}', 'a:1.json', { x: '1', type: 'json' }],
    ['a:x{;v,w}', 'a:x;w=2', { w: '2' }],
    ['a:x?fixed=1{&more}', 'a:x?fixed=1&more=2', { more: '2' }],
    ['a:x{?all*}', 'a:x?any=1&thing=2', {}],
    ['a:{+path}/end', 'a:b/c/end', { path: 'b/c' }],
  ])('of RFC 6570, %s, fits %s', (template, uri, values) => {
    expect(parseUriTemplate(template).match(uri)).toEqual(values)
  })

  it.each([
    ['docs://{page}{?lang}', 'docs://intro?other=1'],
    ['docs://{page}{?lang}', 'docs://a/b'],
    ['a:x{;v}', 'a:x,v=1'],
  ])('of RFC 6570, %s, does not fit %s', (template, uri) => {
    expect(parseUriTemplate(template).match(uri)).toBeUndefined()
  })

  it('names its gaps in order', () => {
    expect(parseUriTemplate('a:{z}/{y}/{x}').params).toEqual(['z', 'y', 'x'])
  })

  it('is matched once through, however many gaps there are and however an address is made up', () => {
    const template = parseUriTemplate(`a:${Array.from({ length: 50 }, (_, index) => `{g${index}}`).join('-')}!`)
    expect(template.match(`a:${'-'.repeat(100_000)}`)).toBeUndefined()
  })
})
