import { crc32, deflateRawSync, gzipSync } from "node:zlib";
import { packTar } from "modern-tar";

export interface ZipMember {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly deflate?: boolean;
  /** What the directory states, where it is not the truth. */
  readonly statedBytes?: number;
  readonly statedChecksum?: number;
  readonly encrypted?: boolean;
}

/** A zip archive, as a wheel is one; hostile where a member says so. Layout: PKWARE APPNOTE 4.3. */
export function zip(members: readonly ZipMember[]): Uint8Array {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const member of members) {
    const name = Buffer.from(member.name);
    const stored = member.deflate ? deflateRawSync(member.bytes) : Buffer.from(member.bytes);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(member.encrypted ? 0x801 : 0x800, 2);
    common.writeUInt16LE(member.deflate ? 8 : 0, 4);
    common.writeUInt32LE(member.statedChecksum ?? crc32(member.bytes), 10);
    common.writeUInt32LE(stored.length, 14);
    common.writeUInt32LE(member.statedBytes ?? member.bytes.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), common, name, stored]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00"), common, rest, name]));
    locals.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, central, end]);
}

/** An npm tarball. */
export async function tarball(
  members: readonly { name: string; bytes: Uint8Array; linkname?: string }[],
): Promise<Uint8Array> {
  const entries = members.map(({ name, bytes, linkname }) =>
    linkname === undefined
      ? { header: { name, size: bytes.length, type: "file" as const }, body: bytes }
      : { header: { name, size: 0, type: "symlink" as const, linkname } },
  );
  return gzipSync(await packTar(entries));
}
