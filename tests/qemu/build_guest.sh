#!/bin/sh
# build_guest.sh OUT BINARY…: makes the QEMU guest of run.sh: OUT/vmlinuz and OUT/initramfs.
#
# The kernel is Debian's own, unpacked from its package and never installed. The initramfs holds
# busybox, kmod, ndctl, daxctl, mkfs.ext4, the modules below, the given binaries in /bin with the
# shared libraries they need, and guest_init.sh as /init. The part that does not change with the
# binaries is kept in OUT/base and made again only when this script or the kernel version changes.
#
# Needs  qemu-system-x86 busybox-static kmod ndctl daxctl e2fsprogs cpio (run.sh installs them), the
#        package lists of apt, and 350 MB below OUT.
# Exit   0 made; 1 something could not be made, with the reason on standard error.
set -eu

out=$1
shift
here=$(cd "$(dirname "$0")" && pwd)

fail() { echo "build_guest: $*" >&2; exit 1; }

# Modules by what they are for. crc32c_generic is loaded by name: ext4 asks for the algorithm, and no
# dependency names the module that has it. The CXL bus itself is built into Debian's kernel.
modules='nfit nd_pmem nd_btt dax_pmem device_dax
         cxl_acpi cxl_pci cxl_mem cxl_pmem
         ext4 crc32c_generic'
programs='/bin/kmod /usr/bin/ndctl /usr/bin/daxctl /sbin/mkfs.ext4'

# copy_program FILE ROOT: FILE into ROOT/bin, its shared libraries and loader where it looks for them.
copy_program() {
  cp -L "$1" "$2/bin/"
  ldd "$1" 2>/dev/null | sed -n 's/^.* => \(\/[^ ]*\) (.*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p' |
    while read -r library; do
      [ -e "$2$library" ] && continue
      mkdir -p "$2$(dirname "$library")"
      cp -L "$library" "$2$library"
    done
}

kernel_package=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1)
[ -n "$kernel_package" ] || fail "apt names no kernel package behind linux-image-amd64; run apt-get update first"
release=${kernel_package#linux-image-}

stamp="$release $(cksum < "$here/build_guest.sh")"
if [ "$(cat "$out/base.stamp" 2>/dev/null)" != "$stamp" ]; then
  rm -rf "$out/base" "$out/kernel" "$out/base.stamp"
  mkdir -p "$out/base" "$out/kernel"
  (cd "$out/kernel" && apt-get download -q "$kernel_package" 2>&1) > "$out/download.log" ||
    fail "apt-get download $kernel_package failed: $(tail -n 1 "$out/download.log")"
  dpkg -x "$out/kernel/$kernel_package"_*.deb "$out/kernel"
  cp "$out/kernel/boot/vmlinuz-$release" "$out/vmlinuz"

  root=$out/base
  mkdir -p "$root/bin" "$root/sbin" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/mnt" "$root/etc" \
    "$root/lib/modules/$release"
  cp /bin/busybox "$root/bin/"
  for program in $programs; do copy_program "$program" "$root"; done
  # The kernel calls /sbin/modprobe itself; busybox's own stumbles over soft dependencies.
  ln -s /bin/kmod "$root/sbin/modprobe"
  : > "$root/etc/mtab"

  # -C /dev/null: ndctl installs a rule that hides libnvdimm from --show-depends.
  depmod -b "$out/kernel" "$release" 2>/dev/null
  for module in $modules; do
    modprobe -d "$out/kernel" -S "$release" -C /dev/null --show-depends "$module" ||
      fail "kernel $release has no module $module"
  done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | sort -u |
    while read -r file; do
      target=$root/lib/modules/$release/${file#*"/lib/modules/$release/"}
      mkdir -p "$(dirname "$target")"
      cp "$file" "$target"
    done
  cp "$out/kernel/lib/modules/$release/modules.order" "$out/kernel/lib/modules/$release/modules.builtin" \
    "$root/lib/modules/$release/"
  depmod -b "$root" "$release"
  rm -rf "$out/kernel"
  echo "$stamp" > "$out/base.stamp"
fi

rm -rf "$out/root"
cp -a "$out/base" "$out/root"
cp "$here/guest_init.sh" "$out/root/init"
chmod 755 "$out/root/init"
for binary in "$@"; do copy_program "$binary" "$out/root"; done
(cd "$out/root" && find . | cpio --quiet -o -H newc | gzip -1) > "$out/initramfs.new"
mv "$out/initramfs.new" "$out/initramfs"
rm -rf "$out/root"
