import { describe, expect, it } from 'vitest'
import { splitLines } from './markdown.ts'
import { parseTaskLine, tasksIn, withDue, withStatus, withTags, writeTaskLine } from './tasks.ts'

describe('a line with a box', () => {
  it.each([
    [
      '- [ ] [[Tasks/Buy milk]] 📅 2026-12-01 #home',
      { status: 'open', title: 'Buy milk', target: 'Tasks/Buy milk', due: '2026-12-01', tags: ['home'] },
    ],
    [
      '\t* [x] [[Tasks/A|the a]] ✅ 2026-11-01',
      { status: 'done', title: 'the a', target: 'Tasks/A', completed: '2026-11-01' },
    ],
    ['  1. [/] call #work/mail #12 now', { status: 'inProgress', title: 'call #12 now', tags: ['work/mail'] }],
    ['> - [-] no `#code` [[x #y]]', { status: 'cancelled', title: 'no `#code` [[x #y]]', tags: [] }],
    ['+ [?] why 🔁 every day', { status: 'other', recurs: true }],
    ['\uFEFF- [ ] first', { title: 'first', status: 'open' }],
  ])('%s is a task', (line, task) => expect(parseTaskLine(line)).toMatchObject(task))

  it.each(['- [ ]', '[ ] a', '- [ ]a', '- [link](x)', '- [xx] a'])('%j is none', line => {
    expect(parseTaskLine(line)).toBeUndefined()
  })

  it('is read back as it was written', () => {
    const line = writeTaskLine('Tasks/Übung 🌱', '2026-12-01', ['home', 'a/b'])
    expect(line).toBe('- [ ] [[Tasks/Übung 🌱]] 📅 2026-12-01 #home #a/b')
    expect(parseTaskLine(line)).toMatchObject({ target: 'Tasks/Übung 🌱', due: '2026-12-01', tags: ['home', 'a/b'] })
  })

  it('has no dates in its links and its code', () => {
    const line = '- [ ] [[Tasks/A 📅 2020-01-01 🔁 every day]] `✅ 2020-01-01`'
    const { due, completed, recurs } = parseTaskLine(line) ?? {}
    expect({ due, completed, recurs }).toEqual({ due: undefined, completed: undefined, recurs: false })
    expect(withDue(line, '2026-12-01')).toBe(`${line} 📅 2026-12-01`)
    expect(withDue(line, undefined)).toBe(line)
    expect(withStatus(line, 'done', '2026-11-15')).toBe(`${line.replace('[ ]', '[x]')} ✅ 2026-11-15`)
    expect(withStatus(line, 'inProgress', '2026-11-15')).toBe(line.replace('[ ]', '[/]'))
  })

  it('changes in one part only', () => {
    const line = '\t-   [ ]  [[A]]  ⏫  📅  2026-12-01 (odd)  #a   #b ^id-1  '
    expect(withDue(line, '2027-01-02')).toBe(line.replace('2026-12-01', '2027-01-02'))
    expect(withDue(line, undefined)).toBe(line.replace(' 📅  2026-12-01', ''))
    expect(withTags(line, ['b', 'c'])).toBe(line.replace(' #a', '').replace(' ^id-1', ' #c ^id-1'))
    expect(withTags(line, ['a', 'b'])).toBe(line)
    expect(withStatus(line, 'done', '2026-11-15')).toBe(
      line.replace('[ ]', '[x]').replace(' ^id-1', ' ✅ 2026-11-15 ^id-1'),
    )
    expect(withStatus('- [x] a ✅ 2026-01-01', 'open', '2026-11-15')).toBe('- [ ] a')
    expect(withStatus('- [X] a ✅ 2026-01-01', 'done', '2026-11-15')).toBe('- [x] a ✅ 2026-01-01')
    expect(withDue('- [ ] a', '2026-12-01')).toBe('- [ ] a 📅 2026-12-01')
  })
})

it('is a task only where a reader sees a box', () => {
  const text = `---
list:
  - [ ] front matter
---
- [ ] one
  - [ ] nested
\`\`\`md
- [ ] in code
~~~
- [ ] still in code
\`\`\`
- [ ] two
> ~~~~
> - [ ] quoted code
> ~~~
> ~~~~
<!-- hidden
- [ ] in a comment
-->
%%
- [ ] in a comment of Obsidian
%%
$$
- [ ] in a formula
$$
\`\`\`inline\`\`\` - [ ] no
- [ ] three
    \`\`\`
- [ ] in code that never ends
`
  expect(tasksIn(splitLines(text)).map(({ title }) => title)).toEqual(['one', 'nested', 'two', 'three'])
})
