import { expect, it } from 'vitest'
import { fileNamedIn } from './file-named.ts'

it.each([
  ['See file:///tmp/a.zip.', 'file:///tmp/a.zip'],
  ['See FILE:/tmp/a.zip', 'FILE:/tmp/a.zip'],
  ['[report](sandbox:/mnt/data/q3.csv)', 'sandbox:/mnt/data/q3.csv'],
  ['Download: https://files.catbox.moe/x1y2.zip!', 'https://files.catbox.moe/x1y2.zip'],
  ['Built to /workspace/out and `/tmp/build.zip`.', '/workspace/out'],
  ['`/tmp/build.zip`, as you said', '/tmp/build.zip'],
  ['Saved:/tmp/build.zip', '/tmp/build.zip'],
  ['保存在/tmp/报告.pdf', '/tmp/报告.pdf'],
  ['It is at /project/dist/report.pdf, done.', '/project/dist/report.pdf'],
  ['Лежит в /проект/отчёт/данные.csv', '/проект/отчёт/данные.csv'],
  ['In ~/reports/q3.csv', '~/reports/q3.csv'],
  ['In C:\\Users\\ada\\q3.csv', 'C:\\Users\\ada\\q3.csv'],
  ['In D:/work/q3.csv', 'D:/work/q3.csv'],
  ['On \\\\server\\share\\q3.xlsx', '\\\\server\\share\\q3.xlsx'],
  ['In %TEMP%\\q3.csv', '%TEMP%\\q3.csv'],
  ['In $HOME/q3.csv', '$HOME/q3.csv'],
])('finds what people cannot open in %j', (text, found) => {
  expect(fileNamedIn(text)).toBe(found)
})

it.each([
  'Done, see attached.',
  'Either/or, 24/7, and/or: 1/2 of a.b/c.d',
  'Call GET /api/v1/workspaces, or see https://example.com/tmp/report.pdf and https://mycatbox.moe.example.com/x',
  'The ratio is w/h; try /help.',
  'Write to ada@example.com/home, or look at http://localhost:8080/tmp/x.',
  'From 12:/30 on, "a:\\" is no file, and neither is profile://x.',
])('finds nothing in %j', text => {
  expect(fileNamedIn(text)).toBeUndefined()
})

// Each of these took minutes while every start was followed to the end of the text.
it.each(['/a@', '/a+', '/a.', '/a-', '/ä', '/a:', 'C:/', '%a', '$a/', '\\\\a', 'http://a.', 'file:/'])(
  'reads a megabyte of %j in one go, and shows little of it',
  piece => {
    const found = fileNamedIn(`${piece.repeat(Math.ceil(1_048_576 / piece.length))} `)
    expect(found?.length ?? 0).toBeLessThanOrEqual(200)
  },
)
