import { describe, expect, it } from 'vitest'
import { fileNameIn, savedAs } from './answers.ts'

describe('the name of a file', () => {
  it.each([
    ['attachment; filename*=UTF-8\'\'na%C3%AFve%20plan.txt; filename="x"', 'naïve plan.txt'],
    ['attachment; filename="a \\"b\\".txt"', 'a "b".txt'],
    ['attachment; filename=plain.txt', 'plain.txt'],
    ['attachment; filename="na\u00c3\u00afve.txt"', 'naïve.txt'],
    ["attachment; filename*=UTF-8''%ff", undefined],
    ["attachment; filename*=UTF-8''%ff; filename=plain.txt", 'plain.txt'],
    ['attachment', undefined],
  ])('is read from %s', (header, name) => {
    expect(fileNameIn(header)).toBe(name)
  })

  it.each([
    ['a.txt', `attachment; filename="a.txt"; filename*=UTF-8''a.txt`],
    ['../../etc/passwd', `attachment; filename="__.._etc_passwd"; filename*=UTF-8''__.._etc_passwd`],
    ['..', `attachment; filename="_"; filename*=UTF-8''_`],
    ['a\r\nSet-Cookie: b', `attachment; filename="a__Set-Cookie_ b"; filename*=UTF-8''a__Set-Cookie_%20b`],
    ["ünï (1)'.txt", `attachment; filename="_n_ (1)'.txt"; filename*=UTF-8''%C3%BCn%C3%AF%20%281%29%27.txt`],
    ['x\u202egpj.exe', `attachment; filename="x_gpj.exe"; filename*=UTF-8''x_gpj.exe`],
  ])('%j leaves as a name and nothing else', (name, header) => {
    expect(savedAs(name)).toBe(header)
  })
})
