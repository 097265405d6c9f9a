import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from './ensure.mjs'

interface LockedPackage {
  readonly resolved?: string
  readonly integrity?: string
  readonly link?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

type Packages = Readonly<Record<string, LockedPackage>>

describe.each(['.', 'interop', 'interop/agents', 'bench/upstreams/peers'])('the lockfile of %s', folder => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, folder, 'package-lock.json'), 'utf8')) as {
    packages: Packages
  }

  it('names no registry, so that it works with a mirror and a cache', () => {
    expect(Object.values(packages).filter(({ resolved }) => resolved?.includes('://'))).toEqual([])
  })

  it('has every package for every platform, so that it works on all of them', () => {
    const missing = Object.entries(packages).flatMap(([place, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(name => !isLocked(packages, place, name)),
    )
    expect(missing).toEqual([])
  })
})

/** Whether Node would find the package from there: beside it, or in a folder further up. */
function isLocked(packages: Packages, place: string, name: string): boolean {
  const candidate = [place, `node_modules/${name}`].filter(Boolean).join('/')
  if (Object.hasOwn(packages, candidate)) return true
  if (place === '') return false
  return isLocked(packages, place.slice(0, Math.max(0, place.lastIndexOf('node_modules/') - 1)), name)
}
